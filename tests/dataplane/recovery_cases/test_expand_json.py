"""The model asks for originals in a JSON answer; the client never sees it.

Source: 03-proxy-and-recovery.md 10.6. Case 91 needs the Responses dialect, which is not part of
this build.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import msgspec
import pytest

from dataplane.core.text import tokens
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import TA, TenantSpec, tenants
from tests.dataplane.gateway_cases.served import MASK_ALL, Serve, Served, with_output
from tests.dataplane.recovery_cases.scripted import (
    NAIVE,
    NAIVE_ID,
    PLACEHOLDER,
    X4000,
    X4000_ID,
    Json,
    appended,
    done,
    ending,
    expands,
    items,
    message,
    r,
    results,
    x,
)

OTHER_KEY = "cg_live_CCCCCCCCCCCCCCCCCCCCCCCCCC"
STARTED = 1_800_000_000
MALFORMED = ("../../etc", "XYZ", "")


def unresolved(served: Served) -> dict[str, int]:
    """What is counted of recovery calls that could not be answered, zeros left out."""
    counted = {
        name.removeprefix("expand_unresolved_"): count
        for name, count in served.stats().items()
        if name.startswith("expand_unresolved_") and isinstance(count, int)
    }
    return {name: count for name, count in counted.items() if count}


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-78")])
async def test_the_client_gets_the_answer_that_was_given_with_the_original_in_hand(
    served: Served, _: None
) -> None:
    asks = message(x(X4000_ID), input_tokens=100, cache_read_input_tokens=7)
    answers = done(input_tokens=20, output_tokens=9)
    served.simulator.script(*expands(asks, answers))

    got = await served.post(anthropic_body(X4000))

    assert got.content == answers
    first, second = served.sent
    echo = items(second, "messages")[-2]
    raw_content = asks[asks.index(b"[") : asks.rindex(b"]") + 1]
    assert raw_content in echo
    result = {"type": "tool_result", "tool_use_id": "toolu_x", "content": X4000}
    assert appended([first, second])[1] == {"role": "user", "content": [result]}
    assert outside_messages(first) == outside_messages(second)
    stats = served.stats()
    assert (stats["fresh_input_tokens"], stats["output_tokens"]) == (120, 14)
    assert stats["cache_read_tokens"] == 7
    assert stats["upstream_rounds"] == 2


def outside_messages(body: bytes) -> Json:
    value: Json = json.loads(body)
    return {name: member for name, member in value.items() if name != "messages"}


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-79")])
async def test_every_call_gets_one_result_in_the_order_of_the_calls(
    served: Served, _: None
) -> None:
    calls = [x(X4000_ID, "c1"), x(NAIVE_ID, "c2"), x(X4000_ID, "c3")]
    served.simulator.script(*expands(message(*calls), done()))

    await served.post(anthropic_body(X4000, NAIVE))

    _, answers = appended(served.sent)
    assert [block["tool_use_id"] for block in answers["content"]] == ["c1", "c2", "c3"]
    assert results(served.sent) == [X4000, NAIVE, X4000]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-80")])
async def test_an_original_that_has_expired_is_answered_by_a_placeholder_and_counted(
    serve: Serve, _: None
) -> None:
    document = MASK_ALL + "store: {ttl_seconds: 60}\n"
    async with serve(document, test_clock=True) as served:
        await served.post(anthropic_body(X4000), x_headrace_now=str(STARTED))
        served.simulator.requests.clear()
        served.simulator.script(*expands(message(x(X4000_ID)), done()))

        got = await served.post(anthropic_body("another"), x_headrace_now=str(STARTED + 1000))

        assert got.content == done()
        assert results(served.sent) == [PLACEHOLDER.format(id=X4000_ID)]
        assert unresolved(served) == {"missing": 1}
        assert served.stats()["expand_unresolved_missing_by"]["expired"] == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-81")])
async def test_ids_that_were_never_ours_are_malformed_and_not_missing(
    served: Served, _: None
) -> None:
    calls = [x(wanted, f"c{number}") for number, wanted in enumerate(MALFORMED)]
    served.simulator.script(*expands(message(*calls), done()))

    await served.post(anthropic_body(X4000))

    assert results(served.sent) == [PLACEHOLDER.format(id=wanted) for wanted in MALFORMED]
    assert unresolved(served) == {"malformed": 3}


@pytest.mark.parametrize(
    ("backend", "counted"),
    [
        pytest.param("sqlite", "never_minted", id="03-case-82-authoritative"),
        pytest.param("memory", "missing", id="03-case-82-memory"),
    ],
)
async def test_an_invented_id_is_told_from_a_lost_one_where_a_ledger_proves_it(
    serve: Serve, backend: str, counted: str
) -> None:
    async with serve(MASK_ALL + f"store: {{backend: {backend}}}\n") as served:
        served.simulator.script(*expands(message(x("0123456789abcdef")), done()))

        await served.post(anthropic_body(X4000))

        assert results(served.sent) == [PLACEHOLDER.format(id="0123456789abcdef")]
        assert unresolved(served) == {counted: 1}


@pytest.mark.parametrize(
    "session",
    [
        pytest.param("theirs", id="03-case-83"),
        pytest.param("mine", id="the same name of a session"),
    ],
)
async def test_an_id_of_another_principal_opens_nothing(serve: Serve, session: str) -> None:
    specs = [*tenants(MASK_ALL), TenantSpec("acme", OTHER_KEY, MASK_ALL, "pc")]
    async with serve(specs=specs) as served:
        await served.post(
            anthropic_body(X4000),
            x_context_guru_token=OTHER_KEY,
            x_context_guru_session=session,
        )
        served.simulator.requests.clear()
        served.simulator.script(*expands(message(x(X4000_ID)), done()))

        await served.post(anthropic_body("mine"), x_context_guru_session="mine")

        assert results(served.sent) == [PLACEHOLDER.format(id=X4000_ID)]
        assert unresolved(served) == {"foreign_session": 1}


@pytest.mark.parametrize(
    ("document", "principal"),
    [
        pytest.param(MASK_ALL + "recovery: {sharing: tenant}\n", "pc", id="a tenant that shares"),
        pytest.param(MASK_ALL, "pa", id="a key that was rotated"),
    ],
)
async def test_an_id_opens_to_another_key_where_it_is_the_same_or_the_tenant_shares(
    serve: Serve, document: str, principal: str
) -> None:
    specs = [*tenants(document), TenantSpec("acme", OTHER_KEY, document, principal)]
    async with serve(specs=specs) as served:
        await served.post(
            anthropic_body(X4000),
            x_context_guru_token=OTHER_KEY,
            x_context_guru_session="theirs",
        )
        served.simulator.requests.clear()
        served.simulator.script(*expands(message(x(X4000_ID)), done()))

        await served.post(anthropic_body("mine"), x_context_guru_session="mine")
        asked = await served.send(
            "GET",
            f"/expand?id={X4000_ID}",
            headers={"x-context-guru-token": TA, "x-context-guru-session": "mine"},
        )

        assert results(served.sent) == [X4000]
        assert (asked.status_code, asked.text) == (200, X4000)


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-84")])
async def test_a_turn_that_also_calls_the_clients_tool_goes_to_the_client_as_it_is(
    served: Served, _: None
) -> None:
    answer = message({"type": "text", "text": "both"}, x(X4000_ID), r())
    served.simulator.script(*expands(answer))

    got = await served.post(anthropic_body(X4000))

    assert got.content == answer
    assert len(served.sent) == 1
    assert ending(served) == {"mixed_turn": 1}


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-87")])
async def test_a_call_that_was_cut_is_taken_out_of_the_answer(served: Served, _: None) -> None:
    call = {"type": "tool_use", "id": "c", "name": "context_guru_expand", "input": {}}
    served.simulator.script(*expands(message(call, stop_reason="max_tokens")))

    got = await served.post(anthropic_body(X4000))

    assert got.json() == json.loads(message(stop_reason="max_tokens"))
    assert ending(served) == {"call_cut": 1}


@pytest.mark.parametrize("choice", [{}, {"tool_choice": {"type": "any"}}], ids=["free", "any"])
async def test_the_last_round_that_may_be_asked_goes_without_our_tool(
    served: Served, choice: Json
) -> None:
    rounds = [message(x(X4000_ID, f"c{number}")) for number in range(3)]
    served.simulator.script(*expands(*rounds, done()))

    await served.post(anthropic_body(X4000, **choice))

    offered = [b'"name":"context_guru_expand","description"' in sent for sent in served.sent]
    assert offered == [True, True, True, False]
    assert [json.loads(sent).get("tool_choice") for sent in served.sent] == [
        choice.get("tool_choice")
    ] * 4


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-85")])
async def test_a_call_after_the_last_round_is_taken_out(served: Served, _: None) -> None:
    rounds = [message(x(X4000_ID, f"c{number}")) for number in range(4)]
    served.simulator.script(*expands(*rounds))

    got = await served.post(anthropic_body(X4000))

    assert got.json() == json.loads(message())
    assert len(served.sent) == 4
    assert ending(served) == {"rounds_spent": 1}


THINKING = {"type": "thinking", "thinking": "hm ✓", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([THINKING, REDACTED], id="03-case-88"),
        pytest.param([SEARCH, FOUND], id="03-case-89"),
    ],
)
async def test_what_stands_beside_the_call_is_echoed_byte_for_byte(
    served: Served, blocks: list[Json]
) -> None:
    asks = message(*blocks, x(X4000_ID))
    served.simulator.script(*expands(asks, done()))

    got = await served.post(anthropic_body(X4000))

    assert got.json()["content"] == [*blocks, *json.loads(done())["content"]]
    echo = items(served.sent[1], "messages")[-2]
    assert asks[asks.index(b"[") : asks.rindex(b"]") + 1] in echo


# ---- OpenAI ---------------------------------------------------------------------------------


def chat_body(*outputs: str, **members: Any) -> bytes:
    messages: list[Json] = [{"role": "user", "content": "Fix the test."}]
    for number, output in enumerate(outputs):
        call = {"id": f"call_{number}", "type": "function",
                "function": {"name": "bash", "arguments": "{}"}}  # fmt: skip
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": output})
    tools = [{"type": "function", "function": {"name": "bash"}}]
    return json.dumps(
        {"model": "gpt-5.6", "messages": messages, "tools": tools, **members}
    ).encode()


async def chat(served: Served, body: bytes) -> bytes:
    got = await served.post(body, path="/v1/chat/completions", authorization="Bearer sk-agent")
    assert got.status_code == 200
    return got.content


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-90")])
async def test_each_openai_call_is_answered_by_a_tool_message(served: Served, _: None) -> None:
    calls = [x(X4000_ID, "c1"), x(NAIVE_ID, "c2")]
    served.simulator.script({"content": calls}, {"content": "done"})

    got = json.loads(await chat(served, chat_body(X4000, NAIVE)))

    assert got["choices"][0]["message"]["content"] == "done"
    assistant, *answers = appended(served.sent)
    assert [call["id"] for call in assistant["tool_calls"]] == ["c1", "c2"]
    assert answers == [
        {"role": "tool", "tool_call_id": "c1", "content": X4000},
        {"role": "tool", "tool_call_id": "c2", "content": NAIVE},
    ]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-90-two-choices")])
async def test_an_answer_of_two_choices_is_not_intercepted(served: Served, _: None) -> None:
    served.simulator.script({"content": [x(X4000_ID)], "n": 2}, {"content": "done"})

    got = json.loads(await chat(served, chat_body(X4000, n=2)))

    assert [c["message"]["tool_calls"][0]["function"]["name"] for c in got["choices"]] == [
        "context_guru_expand"
    ] * 2
    assert len(served.sent) == 1


# ---- afterwards -----------------------------------------------------------------------------


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-92")])
async def test_a_session_that_was_offered_the_tool_is_still_answered_when_it_is_no_longer(
    served: Served, _: None
) -> None:
    await served.post(anthropic_body(X4000), x_context_guru_session="s1")
    offer_no_more(served)
    served.simulator.requests.clear()
    served.simulator.script(*expands(message(x(X4000_ID)), done()))

    got = await served.post(anthropic_body(X4000, "more"), x_context_guru_session="s1")

    assert b'"name":"context_guru_expand"' not in served.sent[0]
    assert got.content == done()
    assert results(served.sent) == [X4000]


def offer_no_more(served: Served) -> None:
    """A new configuration reaches the node in the middle of the session."""
    snapshots = served.gateway.node.snapshots
    tenant = snapshots.tenants["ten_acme"]
    host = msgspec.structs.replace(tenant.plan.host, inject_expand="never")
    plan = dataclasses.replace(tenant.plan, host=host)
    snapshots.tenants = snapshots.tenants | {"ten_acme": dataclasses.replace(tenant, plan=plan)}


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-93")])
async def test_content_that_was_asked_for_once_is_never_removed_from_its_session_again(
    served: Served, _: None
) -> None:
    served.simulator.script(*expands(message(x(X4000_ID)), done()))
    await served.post(anthropic_body(X4000), x_context_guru_session="s1")
    served.simulator.requests.clear()

    for outputs in ([X4000, NAIVE], [X4000, NAIVE, X4000 + "y"]):
        await served.post(anthropic_body(*outputs), x_context_guru_session="s1")
    await served.post(with_output(X4000), x_context_guru_session="s2")

    assert [X4000.encode() in sent for sent in served.sent] == [True, True, False]
    stats = served.stats()
    assert (stats["bounces"], stats["wasted_tokens"]) == (1, tokens.count(X4000).tokens)


def test_the_ids_of_these_cases_are_the_golden_ones() -> None:
    ids = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in (X4000, NAIVE)]

    assert ids == [X4000_ID, NAIVE_ID]
