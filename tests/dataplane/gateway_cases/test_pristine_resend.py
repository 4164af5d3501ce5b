"""The pristine resend: cases 45 and 46 of 03-proxy-and-recovery.md 10.3."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from dataplane.core.resource import Policy
from tests.dataplane.gateway import tenants
from tests.dataplane.gateway_cases.served import LONG, MASK_ALL, Serve, Served, with_output

AT = 1_800_000_000
OFF = Policy(resend_pristine_on_400=False)


def failure(status: int, text: str) -> dict[str, Any]:
    headers = {"request-id": text, "content-type": "application/json"}
    return {"status": status, "body": {"first": text}, "headers": headers}


async def turn(served: Served, *, at: int = 0, bypass: str = "", steps: int = 1) -> httpx.Response:
    """A turn of one session after so many tool outputs, all of them different."""
    clock = {"x_context_guru_session": "s1", "x_headrace_now": str(AT + at)}
    body = with_output(LONG) if steps == 1 else grown(steps)
    return await served.post(body, x_context_guru_bypass=bypass, **clock)


def grown(steps: int) -> bytes:
    body = json.loads(with_output(LONG))
    for number in range(1, steps):
        call, result = json.loads(
            json.dumps(body["messages"][1:3]).replace("toolu_0", f"toolu_{number}")
        )
        result["content"][0]["content"] = LONG + str(number)
        body["messages"] += [call, result]
    return json.dumps(body).encode()


def outputs(body: bytes) -> list[str]:
    messages = json.loads(body)["messages"]
    return [message["content"][0]["content"] for message in messages[2::2]]


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_case_45_a_body_that_is_refused_shaped_is_sent_as_it_came(
    serve: Serve, status: int
) -> None:
    async with serve(test_clock=True) as served:
        served.simulator.script(failure(status, "no"), {"content": "yes"})

        answer = await turn(served)

        assert (answer.status_code, answer.json()["content"][0]["text"]) == (200, "yes")
        shaped, pristine = served.sent
        assert b"<<cg:" in shaped
        assert pristine == with_output(LONG)
        assert served.stats()["pristine_resends"] == {"recovered": 1, "same": 0}
        assert served.stats()["saved_tokens"] == 0
        assert served.stats()["bypassed"] == {"pristine_resent": 1}


async def test_case_45_the_session_removes_nothing_new_for_an_hour(serve: Serve) -> None:
    async with serve(test_clock=True) as served:
        served.simulator.script(failure(400, "no"), {"content": "yes"})
        await turn(served)

        await turn(served, at=1, steps=2)
        gates = served.stats()["components"]["mask"]["gates"]
        await turn(served, at=3700, steps=3)

        during, after = map(outputs, (served.sent[2], served.sent[3]))
        assert (gates["replay_only"], gates["refused_by_provider"]) == (1, 1)
        assert during == [LONG, LONG + "1"]
        assert json.loads(served.sent[2])["tools"][-1]["name"] == "context_guru_expand"
        assert after[0] == LONG
        assert "<<cg:" in after[2]


async def test_case_45_what_was_accepted_before_the_refusal_is_replayed_and_the_refused_is_not(
    serve: Serve,
) -> None:
    async with serve(test_clock=True) as served:
        served.simulator.script({"content": "a"}, failure(400, "no"), {"content": "yes"})
        await turn(served)
        await turn(served, at=1, steps=2)

        await turn(served, at=2, steps=2)

        accepted, refused, pristine, later = map(outputs, served.sent)
        assert pristine == [LONG, LONG + "1"]
        assert refused[0] == accepted[0]
        assert "<<cg:" in refused[1]
        assert later == [accepted[0], LONG + "1"]


async def test_case_45_where_only_the_tool_was_new_it_is_not_declared_for_an_hour(
    serve: Serve,
) -> None:
    plain = MASK_ALL.replace("min_tokens: 1", "min_tokens: 5000")
    async with serve(plain, test_clock=True) as served:
        served.simulator.script(failure(400, "no"), {"content": "yes"})
        await turn(served)

        await turn(served, at=1, steps=2)
        await turn(served, at=3700, steps=3)

        names = [[tool["name"] for tool in json.loads(body)["tools"]] for body in served.sent]
        expand = ["bash", "context_guru_expand"]
        assert names == [expand, ["bash"], ["bash"], expand]


async def test_case_46_two_refusals_are_answered_with_the_first(serve: Serve) -> None:
    async with serve(test_clock=True) as served:
        served.simulator.script(failure(400, "one"), failure(400, "two"), failure(400, "three"))

        first = await turn(served)
        second = await turn(served, at=59)

        assert (first.status_code, first.json()) == (400, {"first": "one"})
        assert first.headers["request-id"] == "one"
        assert second.json() == {"first": "three"}
        assert len(served.sent) == 3
        assert served.stats()["pristine_resends"] == {"recovered": 0, "same": 1}


async def test_case_46_a_minute_later_it_is_tried_again(serve: Serve) -> None:
    async with serve(test_clock=True) as served:
        served.simulator.script(*[failure(400, str(n)) for n in range(4)])

        await turn(served)
        second = await turn(served, at=60)

        assert second.json() == {"first": "2"}
        assert len(served.sent) == 4


async def test_a_resend_that_fails_otherwise_is_answered_with_the_first_refusal(
    serve: Serve,
) -> None:
    async with serve(test_clock=True) as served:
        served.simulator.script(failure(400, "one"), failure(500, "two"))

        answer = await turn(served)

        assert (answer.status_code, answer.json()) == (400, {"first": "one"})


@pytest.mark.parametrize(
    ("specs", "bypass", "status"),
    [
        pytest.param(tenants(MASK_ALL, policy=OFF), "", 400, id="policy"),
        pytest.param(tenants(MASK_ALL), "true", 400, id="unchanged"),
        pytest.param(tenants(MASK_ALL), "", 429, id="another-refusal"),
    ],
)
async def test_what_is_refused_for_another_reason_is_not_sent_again(
    serve: Serve, specs: Any, bypass: str, status: int
) -> None:
    async with serve(specs=specs, test_clock=True) as served:
        served.simulator.script(failure(status, "one"))

        answer = await turn(served, bypass=bypass)

        assert answer.json() == {"first": "one"}
        assert len(served.sent) == 1


async def test_a_stream_is_sent_again_before_its_first_byte(serve: Serve) -> None:
    async with serve(test_clock=True) as served:
        served.simulator.script(failure(400, "no"), {"content": "yes ✓"})

        answer = await served.post(with_output(LONG, stream=True), x_headrace_now=str(AT))

        assert "message_stop" in answer.text
        assert len(served.sent) == 2
