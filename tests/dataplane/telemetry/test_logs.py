"""What the log says of a request, and what it must never say (03 §1.8, 6.3)."""

from __future__ import annotations

import io
import logging
import re

import pytest

from dataplane.adapters.figures.logs import Scrubber
from tests import house
from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import LONG, MASK_ALL, Serve, Served, with_output

PROVIDER_KEY = "sk-ant-api03-" + "k" * 40
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLW9mLWEtdG9rZW4"
OTHER_TENANT = "cg_live_" + "Z" * 26
SECRETS = (PROVIDER_KEY, JWT, OTHER_TENANT, TA)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name.startswith("headrace")]


def event(caplog: pytest.LogCaptureFixture, name: str) -> dict[str, str]:
    """The fields of the one line of this event."""
    (line,) = (text for text in messages(caplog) if text.startswith(f"{name} "))
    return dict(word.split("=", 1) for word in line.split(" ")[1:])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("served", id="135-served"),
        pytest.param("refused", id="135-refused"),
        pytest.param("unreachable", id="135-upstream-down"),
        pytest.param("path", id="135-in-the-path"),
    ],
)
async def test_case_135_no_credential_reaches_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture, answer: str
) -> None:
    caplog.set_level(logging.DEBUG, logger="headrace")
    body = with_output(f"{LONG} {' '.join(SECRETS)} {LONG}")
    headers = {
        "x-context-guru-token": OTHER_TENANT if answer == "refused" else TA,
        "x-api-key": PROVIDER_KEY,
        "authorization": f"Bearer {JWT}",
        "cookie": f"session={JWT}",
        "x-context-guru-session": f"key {PROVIDER_KEY}" if answer == "refused" else "s",
    }
    async with serve(MASK_ALL) as served:
        if answer == "unreachable":
            await served.simulator.close()
        path = f"/v1/messages/{JWT}" if answer == "path" else "/v1/messages"
        await served.send("POST", path, content=body, headers=headers)
        await served.settled()

    logged = "\n".join(messages(caplog))
    assert "cg.re" in logged
    for secret in SECRETS:
        assert secret not in logged


async def test_case_135_a_credential_that_a_client_names_its_session_by_is_hidden(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="headrace"):
        await served.post(with_output(LONG), x_context_guru_session=PROVIDER_KEY)
        await served.settled()

    assert event(caplog, "cg.request")["session"] == "«secret»"


def test_what_a_handler_prints_holds_no_credential_not_even_in_a_traceback() -> None:
    stream = io.StringIO()
    printer = logging.StreamHandler(stream)
    printer.addFilter(Scrubber())
    log = logging.Logger("of-this-test")
    log.addHandler(printer)

    try:
        raise ValueError(f"cannot read {PROVIDER_KEY}")
    except ValueError:
        log.exception("failed for %s", JWT)

    assert "failed for «secret»" in stream.getvalue()
    assert "ValueError: cannot read «secret»" in stream.getvalue()


async def test_a_client_cannot_write_lines_of_its_own_into_the_log(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    await served.send("GET", "/no%0acg.request%20id=forged%1b[2J%e2%80%a8")

    (line,) = (text for text in messages(caplog) if text.startswith("cg.refused "))
    assert line.endswith(r"path=/no\ncg.request id=forged\x1b[2J\u2028")


async def test_a_request_is_one_line_with_its_fields(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="headrace"):
        await served.post(with_output(LONG), x_context_guru_session="s")
        await served.settled()

    fields = event(caplog, "cg.request")
    stats = served.stats()
    assert fields.keys() >= {
        "tenant", "route", "session", "thread", "variant", "snapshot", "status", "serve_ms",
        "cg_ms", "upstream_rounds", "expands", "sse", "sse_buffered", "tiers", "usage_miss",
        "tokens_before", "tokens_after", "tokens_saved", "bypassed",
    }  # fmt: skip
    assert (fields["tenant"], fields["route"], fields["variant"]) == ("ten_acme", "messages", "v1")
    assert fields["session"] == "s"
    assert int(fields["tokens_saved"]) == stats["saved_tokens"] > 0


async def test_components_are_logged_one_by_one_where_that_was_asked_for(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="headrace.request"):
        await served.post(with_output(LONG), x_context_guru_session="s")
        await served.settled()

    fields = event(caplog, "cg.component")
    assert (fields["component"], fields["verdict"]) == ("mask", "acted")
    assert int(fields["delta"]) == -served.stats()["saved_tokens"]


def test_every_logger_of_the_data_plane_is_one_that_is_scrubbed() -> None:
    named = {
        (path.name, name)
        for path in sorted((house.ROOT / "dataplane").rglob("*.py"))
        for name in re.findall(r"getLogger\((.*?)\)", path.read_text(encoding="utf-8"))
    }

    assert named
    assert {each for each in named if not each[1].startswith('"headrace')} == set()
