"""What the R cases of 08-field-cases.md ask for beyond their files: credentials and addresses."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.field_cases import casefile
from tests.dataplane.field_cases.playing import everything_logged
from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL, Serve, Served, with_output
from tests.dataplane.recovery_cases.scripted import X4000_ID, x
from tests.servers import free_port

BODY = with_output("short")
# Without a tool, so that nobody looks for a call in the answer.
PLAIN = json.dumps(
    {"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
).encode()


def values_of(served: Served) -> list[str]:
    """Every header value that the provider got, of all requests."""
    return [v.decode("latin-1") for each in served.simulator.requests for _, v in each.headers]


# ---- whose credential goes where --------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([("authorization", f"Bearer {TA}"), ("x-api-key", "sk-1")], id="in-the-slot"),
        pytest.param(
            [
                ("x-context-guru-token", TA),
                ("authorization", f"Bearer {TA}"),
                ("x-api-key", "sk-1"),
            ],
            id="twice",
        ),
        pytest.param(
            [("x-context-guru-token", TA), ("x-context-guru-token", TA), ("x-api-key", "sk-1")],
            id="twice-in-its-own-header",
        ),
        pytest.param(
            [("x-context-guru-token", TA), ("api-key", TA), ("x-api-key", "sk-1")],
            id="in-a-slot-of-another-provider",
        ),
        pytest.param(
            [("x-context-guru-token", TA), ("x-note", f"key={TA};"), ("x-api-key", "sk-1")],
            id="inside-another-value",
        ),
    ],
)
async def test_case_r_13_the_tenants_key_stays_here_wherever_it_stands(
    served: Served, headers: list[tuple[str, str]]
) -> None:
    cookie = ("cookie", "sessionid=operator-cookie-1")

    answer = await served.send("POST", "/v1/messages", content=BODY, headers=[*headers, cookie])

    assert answer.status_code == 200
    assert [value for value in values_of(served) if TA in value or "operator" in value] == []
    assert served.simulator.requests[0].header("x-api-key") == "sk-1"
    assert served.simulator.requests[0].header("authorization") is None


async def test_case_r_13_nor_does_a_continuation_carry_it(served: Served) -> None:
    headers = AGENT | {"cookie": "sessionid=operator-cookie-1", "authorization": f"Bearer {TA}"}
    served.simulator.script({"content": [x(X4000_ID)]}, {"content": "done"})

    await served.send("POST", "/v1/messages", content=BODY, headers=headers)

    assert len(served.sent) == 2
    assert [value for value in values_of(served) if TA in value or "operator" in value] == []


async def test_case_r_14_a_held_key_goes_out_alone(serve: Serve) -> None:
    async with serve(upstream={"key_ref": "main"}, secrets={"main": "sk-held"}.get) as served:
        headers = AGENT | {"authorization": "Bearer sk-caller"}
        await served.send("POST", "/v1/messages", content=BODY, headers=headers)

    (request,) = served.simulator.requests
    assert request.header("x-api-key") == "sk-held"
    assert request.header("authorization") is None
    assert [value for value in values_of(served) if "caller" in value or "agent" in value] == []


# ---- what a failure tells ---------------------------------------------------------------


async def test_case_r_15_a_refused_connection_is_told_without_an_address(
    serve: Serve, simulator: Simulator
) -> None:
    port = free_port()
    simulator.url = f"http://svc-user:pw-invented@127.0.0.1:{port}"
    with everything_logged() as log:
        async with serve() as served:
            answer = await served.post(BODY)

    assert answer.status_code == 502
    assert answer.json()["request_id"] == answer.headers["x-context-guru-request-id"]
    said = answer.text + str(answer.headers)
    for secret in (str(port), "127.0.0.1", "pw-invented", "svc-user", "Errno", "Connector"):
        assert secret not in said
    assert "cg.upstream_failed" in log.text
    assert "upstream=sim-a" in log.text
    assert "pw-invented" not in log.text


async def test_case_r_15_a_password_in_an_address_never_becomes_a_credential(
    serve: Serve, simulator: Simulator
) -> None:
    """HTTP clients make a Basic header of it, which would take the place of the caller's own."""
    simulator.url = simulator.url.replace("//", "//svc-user:pw-invented@")
    async with serve() as served:
        await served.post(BODY, authorization="Bearer sk-caller")

    (request,) = simulator.requests
    assert request.header("authorization") == "Bearer sk-caller"
    assert request.header("x-api-key") == "sk-agent"


# ---- who may read the operator's pages --------------------------------------------------


RELAYED = [
    {"x-forwarded-for": "198.51.100.7"},
    {"x-forwarded-for": "127.0.0.1"},
    {"x-forwarded-for": ""},
    {"x-real-ip": "127.0.0.1"},
    {"forwarded": "for=127.0.0.1"},
    {"via": "1.1 proxy"},
    {"x-forwarded-host": "headrace.test"},
    {"x-forwarded-port": "443"},
    {"x-original-forwarded-for": "127.0.0.1"},
    {"cf-connecting-ip": "198.51.100.7"},
    {"true-client-ip": "198.51.100.7"},
    {"x-client-ip": "198.51.100.7"},
]


@pytest.mark.parametrize("path", ["/metrics", "/stats"])
async def test_case_r_16_behind_a_proxy_the_operators_pages_are_closed(
    serve: Serve, path: str
) -> None:
    async with serve(metrics_token="scrape-me") as served:
        direct = await served.send("GET", path)
        answers = [await served.send("GET", path, headers=header) for header in RELAYED]

    assert direct.status_code == 200
    assert [answer.status_code for answer in answers] == [403] * len(RELAYED)
    assert not any("cg_" in answer.text for answer in answers)


async def test_case_r_16_behind_a_proxy_the_scrape_token_opens_the_metrics(serve: Serve) -> None:
    async with serve(metrics_token="scrape-me") as served:
        wrong, right = [
            await served.send(
                "GET", "/metrics", headers={**RELAYED[0], "authorization": f"Bearer {token}"}
            )
            for token in ("scrape-you", "scrape-me")
        ]

    assert (wrong.status_code, right.status_code) == (403, 200)


# ---- an address of the user's choosing --------------------------------------------------


def test_case_r_20_a_document_names_no_address() -> None:
    case = casefile.load("R-20")

    checked = check(case.turns[0].asked.body, context=Context(components()))

    paths = {each.path.strip("/") for each in checked.problems if each.severity == "error"}
    assert checked.effective is None
    assert set(case.turns[0].expect["error_paths"]) <= paths


@pytest.mark.parametrize("name", ["x-context-guru-base-url", "x-context-guru-upstream"])
async def test_case_r_20_a_header_chooses_no_address_and_goes_nowhere(
    served: Served, name: str
) -> None:
    headers = AGENT | {name: "http://169.254.169.254/"}

    answer = await served.send("POST", "/v1/messages", content=BODY, headers=headers)

    assert answer.status_code == 200
    assert served.simulator.requests[0].header(name) is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/models"])
async def test_case_r_20_a_redirect_is_handed_on_and_not_followed(
    served: Served, path: str, status: int
) -> None:
    target = served.simulator.url + "/internal"
    served.simulator.script({"raw_b64": [""], "status": status, "headers": {"location": target}})
    method = "POST" if path == "/v1/messages" else "GET"

    answer = await served.send(method, path, content=BODY, headers=AGENT)

    assert answer.status_code == status
    assert [request.path for request in served.simulator.requests] == [path]


# ---- secrets and prompts in logs --------------------------------------------------------

CANARIES = {
    "provider key": "sk-canary-of-a-provider",
    "cookie": "canary-cookie",
    "prompt": "canary-prompt",
    "tool output": "canary-output",
    "query": "canary-query",
}


@pytest.mark.parametrize(
    "upstream",
    [
        pytest.param({"content": "fine"}, id="answered"),
        pytest.param({"status": 400, "error": {"message": "canary-output"}}, id="refused"),
        pytest.param({"content": "cut", "cut_after_bytes": 5}, id="cut"),
        pytest.param({"raw_b64": ["e30="], "headers": {"x": "y"}}, id="odd"),
    ],
)
async def test_case_r_24_no_secret_and_no_text_reaches_logs_or_figures(
    serve: Serve, upstream: dict[str, Any]
) -> None:
    body = json.loads(anthropic_body(f"{CANARIES['tool output']} " * 200))
    body["messages"][0]["content"] = CANARIES["prompt"]
    headers = {
        "x-context-guru-token": TA,
        "x-api-key": CANARIES["provider key"],
        "cookie": CANARIES["cookie"],
    }
    with everything_logged() as log:
        async with serve(MASK_ALL) as served:
            served.simulator.script(upstream)
            bodies = (json.dumps(body).encode(), json.dumps(body).encode()[:-1], b"\xff" + BODY)
            for each in bodies:
                with_query = f"/v1/messages?key={CANARIES['query']}"
                try:
                    await served.send("POST", with_query, content=each, headers=headers)
                except httpx.RemoteProtocolError:
                    continue  # the answer that was cut
            figures = json.dumps(served.stats()) + (await served.send("GET", "/metrics")).text

    assert "cg.request" in log.text
    for canary in [*CANARIES.values(), TA]:
        assert canary not in log.text
        assert canary not in figures


def fails(*_: object) -> None:
    """As the decoders do, which name the value that they could not read."""
    try:
        raise KeyError(CANARIES["tool output"])
    except KeyError as error:
        raise ValueError(f"Invalid value {CANARIES['prompt']!r}") from error


@pytest.mark.parametrize("begun", [False, True], ids=["before-the-head", "in-the-stream"])
async def test_case_r_24_nor_is_a_fault_while_an_answer_is_relayed(
    served: Served, monkeypatch: pytest.MonkeyPatch, *, begun: bool
) -> None:
    """The client sees a 500, or an answer that breaks off; the server's own log says nothing."""
    place = "core.expand.stream.SpliceRelay.end_round" if begun else "adapters.http.Decoder.feed"
    monkeypatch.setattr("dataplane." + place, faulty)
    with everything_logged() as log:
        try:
            answer = await served.post(with_output(CANARIES["prompt"], stream=True))
        except httpx.RemoteProtocolError:
            status = 200
        else:
            status = answer.status_code
        await served.settled()

    assert status == (200 if begun else 500)
    assert "cg.fault path=/v1/messages" in log.text
    assert "in faulty" in log.text
    assert "canary" not in log.text


async def test_a_fault_in_reading_a_whole_answer_takes_it_from_nobody(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = (await served.send("POST", "/v1/messages", content=PLAIN, headers=AGENT)).json()
    monkeypatch.setattr("dataplane.core.expand.plain.PlainRelay.end_round", faulty)
    with everything_logged() as log:
        answer = await served.send("POST", "/v1/messages", content=PLAIN, headers=AGENT)
        await served.settled()

    assert answer.status_code == 200
    assert answer.json()["content"] == expected["content"]
    assert "in faulty" in log.text


def faulty(*_: object, **__: object) -> None:
    raise KeyError(CANARIES["tool output"])


@pytest.mark.parametrize("path", ["/v1/messages", "/compact"])
@pytest.mark.parametrize("place", ["pipeline.loop.run", "expand.repair.strays"])
async def test_case_r_24_a_fault_of_ours_is_logged_without_what_it_quotes(
    served: Served, monkeypatch: pytest.MonkeyPatch, place: str, path: str
) -> None:
    monkeypatch.setattr("dataplane.core." + place, fails)
    with everything_logged() as log:
        answer = await served.send("POST", path, content=BODY, headers=AGENT)

    assert answer.status_code == 200
    assert "cg.rewrite_failed tenant=ten_acme" in log.text
    assert "in fails" in log.text
    assert "KeyError\nwhich led to" in log.text
    assert "canary" not in log.text
