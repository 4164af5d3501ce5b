"""What providers refuse or open in a recovery round (00 §2 (rows 26, 27), 03 §4.4, 10.6 (86))."""

from __future__ import annotations

import json

import pytest

from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway_cases.served import Serve, Served
from tests.dataplane.recovery_cases.scripted import (
    X4000,
    X4000_ID,
    done,
    ending,
    expands,
    member,
    message,
    raw_json,
    x,
)


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(529, id="03-case-86"),
        *(pytest.param(status, id=f"03-case-86-{status}") for status in (408, 409, 425, 429, 500)),
    ],
)
async def test_a_refusal_that_a_client_retries_goes_to_it_and_its_retry_does_the_round_again(
    served: Served, status: int
) -> None:
    """Nothing was sent yet, so the client is in the place that it knows: refused, and not billed
    for a recovery that did not happen.
    """
    refusal = {"status": status, "error": {"message": "full"}, "headers": {"retry-after": "7"}}
    served.simulator.script(raw_json(message(x(X4000_ID))), refusal)

    refused = await served.post(anthropic_body(X4000), x_context_guru_session="s1")
    booked = served.stats()["bounces"]
    served.simulator.script(*expands(message(x(X4000_ID)), done()))
    got = await served.post(anthropic_body(X4000), x_context_guru_session="s1")

    assert (refused.status_code, refused.headers["retry-after"]) == (status, "7")
    assert refused.json()["error"]["message"] == "full"
    assert (booked, served.stats()["bounces"]) == (0, 1)
    assert served.sent[2] == served.sent[0]
    assert got.json() == json.loads(done())
    assert ending(served) == {"refusal_passed_on": 1}


@pytest.mark.parametrize("status", [400, 413])
async def test_a_refusal_of_our_own_continuation_gives_the_client_the_round_before(
    served: Served, status: int
) -> None:
    """An agent that never asked for us must not die of us; its next request is put right."""
    asks = message(x(X4000_ID))
    served.simulator.script(raw_json(asks), {"status": status, "error": {"message": "no"}})

    got = await served.post(anthropic_body(X4000))

    assert (got.status_code, got.content) == (200, asks)
    assert served.stats()["bounces"] == 0
    assert ending(served) == {"continuation_refused": 1}


async def test_a_provider_that_is_silent_in_a_continuation_is_an_error_that_is_retried(
    serve: Serve,
) -> None:
    async with serve(first_byte_timeout_s=0.5) as served:
        silent = {"content": "late", "head_delay_ms": 30_000}
        served.simulator.script(raw_json(message(x(X4000_ID))), silent)

        got = await served.post(anthropic_body(X4000))

        assert got.status_code == 502
        assert served.stats()["bounces"] == 0
        assert ending(served) == {"refusal_passed_on": 1}


async def test_a_continuation_that_breaks_off_gives_the_client_the_round_before(
    served: Served,
) -> None:
    asks = message(x(X4000_ID))
    served.simulator.script(raw_json(asks), raw_json(done(), cut_after_bytes=20))

    got = await served.post(anthropic_body(X4000))

    assert got.content == asks
    assert served.stats()["bounces"] == 0
    assert ending(served) == {"continuation_failed": 1}


async def test_a_container_that_the_answer_opened_is_named_in_the_continuation(
    served: Served,
) -> None:
    value = json.loads(message(x(X4000_ID)))
    opened = {"id": "container_1", "expires_at": "2027-01-01T00:00:00Z"}
    asks = json.dumps(value | {"container": opened}).encode()
    served.simulator.script(*expands(asks, done()))

    await served.post(anthropic_body(X4000))

    assert member(served.sent[0], "container") is None
    assert member(served.sent[1], "container") == b'"container_1"'
