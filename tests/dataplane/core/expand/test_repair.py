"""Calls of ours that the client answered are put right on every later turn (03 §4.6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.asked import Asked
from dataplane.core.effects import Found, OpenTurn, Recall, Recalled, SessionView
from dataplane.core.exchange import Exchange
from dataplane.core.expand import repair
from dataplane.core.expand.repair import answered_calls
from dataplane.core.serving.plan import Plan
from dataplane.core.tools.tool import ADJUDICATE_ANSWER
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import Span, elements
from tests.dataplane.core.build import M_ID, M, run_core


def anthropic(*, original_is_present: bool = False, name: str = "context_guru_expand") -> bytes:
    """A turn in which the agent answered our call with an error, and its own tool rightly."""
    calls = [
        {"type": "tool_use", "id": "toolu_x", "name": name, "input": {"id": M_ID}},
        {"type": "tool_use", "id": "toolu_r", "name": "bash", "input": {"command": "ls"}},
    ]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_x",
            "is_error": True,
            "content": "unknown tool",
        },
        {"type": "tool_result", "tool_use_id": "toolu_r", "content": "a.py"},
    ]
    history: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    if original_is_present:
        read = {"type": "tool_use", "id": "toolu_0", "name": "bash", "input": {}}
        old = {"type": "tool_result", "tool_use_id": "toolu_0", "content": M}
        history += [{"role": "assistant", "content": [read]}, {"role": "user", "content": [old]}]
    history += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    return json.dumps({"model": "m", "messages": history}).encode()


def openai() -> bytes:
    arguments = json.dumps({"id": M_ID})
    call = {
        "id": "call_x",
        "type": "function",
        "function": {"name": "context_guru_expand", "arguments": arguments},
    }
    history = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_x", "content": "unknown tool"},
    ]
    return json.dumps({"model": "m", "messages": history}).encode()


def responses(name: str) -> bytes:
    call = {"type": "function_call", "call_id": "call_x", "name": name, "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_x", "output": "text"}
    return json.dumps({"model": "m", "input": [call, result]}).encode()


def repaired(body: bytes, *recalled: Recalled, dialect: Dialect = Dialect.ANTHROPIC) -> Any:
    """What is sent when the store recalls so, and the exchange that sent it."""
    exchange = Exchange(Plan(), Asked(dialect), persists=True)
    outgoing, effects = run_core(exchange.prepare(body), *recalled, SessionView())
    assert [type(effect) for effect in effects] == [Recall] * len(recalled) + [OpenTurn]
    return outgoing.body, exchange


RESOLVED = Recalled(Found.RESOLVED, M.encode())


def test_case_112_an_error_of_the_client_becomes_the_original_and_other_results_stay() -> None:
    body = anthropic()

    sent, exchange = repaired(body, RESOLVED)

    results = json.loads(sent)["messages"][-1]["content"]
    assert results[0]["content"] == M
    assert results[0]["is_error"] is False
    assert sent.endswith(body[body.index(b'{"type": "tool_result", "tool_use_id": "toolu_r"') :])
    assert exchange.recoveries.repaired[0].found == "resolved"
    assert exchange.recoveries.bounces == 0


def test_case_113_the_same_transcript_is_repaired_to_the_same_bytes() -> None:
    assert repaired(anthropic(), RESOLVED)[0] == repaired(anthropic(), RESOLVED)[0]


def test_case_114_an_original_that_the_request_holds_is_pointed_to() -> None:
    sent, _ = repaired(anthropic(original_is_present=True), RESOLVED)

    assert json.loads(sent)["messages"][-1]["content"][0]["content"] == (
        f"[context_guru_expand: the content for id {M_ID} is present earlier in this conversation]"
    )


def test_a_copy_that_arrives_later_does_not_change_what_was_sent() -> None:
    """The agent reads the file again because its recovery call failed: the usual next step."""
    before = anthropic()
    read = {"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {}}
    again = {"type": "tool_result", "tool_use_id": "toolu_2", "content": M}
    body = json.loads(before)
    body["messages"] += [
        {"role": "assistant", "content": [read]},
        {"role": "user", "content": [again]},
    ]

    first, _ = repaired(before, RESOLVED)
    second, _ = repaired(json.dumps(body).encode(), RESOLVED)

    assert second.startswith(first.removesuffix(b"]}"))


def test_many_answers_in_one_message_are_found_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[Span] = []

    def counted(body: bytes, span: Span) -> list[Span]:
        walks.append(span)
        return elements(body, span)

    monkeypatch.setattr(repair, "elements", counted)
    ids = [f"toolu_{number}" for number in range(20)]
    wanted = {"type": "tool_use", "name": "context_guru_expand", "input": {"id": M_ID}}
    calls = [{**wanted, "id": id_} for id_ in ids]
    results = [{"type": "tool_result", "tool_use_id": id_, "content": "no"} for id_ in ids]
    history = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    body = json.dumps({"model": "m", "messages": history}).encode()

    found = repair.strays(decode(Dialect.ANTHROPIC, body))

    assert [stray.call.call_id for stray in found] == ids
    assert len(walks) == 1


def test_an_answer_that_names_a_member_twice_stays_as_it_came() -> None:
    once = b'"content": "unknown tool"'
    body = anthropic().replace(once, once + b", " + once)

    sent, _ = repaired(body)

    assert sent == body


def test_an_answer_that_is_the_original_already_stays_as_it_came() -> None:  # 08 §P-13
    for is_present in (False, True):
        body = anthropic(original_is_present=is_present)
        right = body.replace(b'"unknown tool"', json.dumps(M).encode())

        assert repaired(right, RESOLVED)[0] == right


@pytest.mark.parametrize(
    ("name", "is_recovery"),
    [
        ("context_guru_expand", True),
        ("mcp__gateway__context_guru_expand", True),
        ("gateway.context_guru_expand", True),
        ("not_context_guru_expanded", False),
        ("mycontext_guru_expand", False),
        ("bash", False),
    ],
)
@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_answer_to_a_recovery_call_is_known_under_every_prefix(  # 08 §P-13
    dialect: Dialect,
    name: str,
    is_recovery: bool,  # noqa: FBT001
) -> None:
    body = {
        Dialect.ANTHROPIC: anthropic(name=name),
        Dialect.OPENAI_CHAT: openai().replace(b"context_guru_expand", name.encode()),
        Dialect.OPENAI_RESPONSES: responses(name),
    }[dialect]

    found = answered_calls(decode(dialect, body))

    assert len(found) == (1 if is_recovery else 0)


def test_case_115_openai_tool_messages_are_repaired_alike() -> None:
    sent, _ = repaired(openai(), RESOLVED, dialect=Dialect.OPENAI_CHAT)

    assert json.loads(sent)["messages"][-1]["content"] == M


def test_nulls_in_the_messages_of_a_client_hide_neither_calls_nor_answers() -> None:
    body = json.loads(openai())
    for message in body["messages"]:
        message.setdefault("tool_calls", None)
        message.setdefault("tool_call_id", None)
    written = json.dumps(body).encode()

    sent, _ = repaired(written, RESOLVED, dialect=Dialect.OPENAI_CHAT)

    assert json.loads(sent)["messages"][-1]["content"] == M
    assert answered_calls(decode(Dialect.OPENAI_CHAT, written)) == {"call_x"}


def test_case_116_a_verdict_call_gets_the_fixed_sentence() -> None:
    sent, exchange = repaired(anthropic(name="context_guru_adjudicate"))

    assert json.loads(sent)["messages"][-1]["content"][0]["content"] == ADJUDICATE_ANSWER
    assert exchange.recoveries.repaired[0].found == "context_guru_adjudicate"


@pytest.mark.parametrize("found", [Found.EXPIRED, Found.LOST, Found.FOREIGN_SESSION])
def test_what_cannot_be_resolved_becomes_the_placeholder(found: Found) -> None:
    sent, exchange = repaired(anthropic(), Recalled(found))

    assert json.loads(sent)["messages"][-1]["content"][0]["content"] == (
        f"[context_guru_expand: the original for id {M_ID} is no longer available]"
    )
    assert exchange.recoveries.repaired[0].found == found.value


def test_a_result_without_content_gets_one() -> None:
    body = json.loads(anthropic())
    del body["messages"][-1]["content"][0]["content"]

    sent, _ = repaired(json.dumps(body).encode(), RESOLVED)

    assert json.loads(sent)["messages"][-1]["content"][0]["content"] == M


def test_a_bypassed_request_is_not_repaired() -> None:
    body = anthropic()
    exchange = Exchange(Plan(), Asked(Dialect.ANTHROPIC, wants_bypass=True), persists=True)

    outgoing, _ = run_core(exchange.prepare(body))

    assert outgoing.body == body


def test_a_call_of_the_clients_own_tool_is_never_touched() -> None:
    body = anthropic(name="bash_context_guru_like")

    sent, _ = repaired(body)

    assert sent == body


def test_the_answer_to_another_tool_under_a_used_id_stays_what_the_client_said() -> None:
    """Some clients number the calls of each turn from nought."""
    body = json.loads(openai())
    call = {"id": "call_x", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    body["messages"].append({"role": "assistant", "tool_calls": [call]})
    body["messages"].append({"role": "tool", "tool_call_id": "call_x", "content": "a listing"})

    sent, _ = repaired(json.dumps(body).encode(), RESOLVED, dialect=Dialect.OPENAI_CHAT)

    said = [m["content"] for m in json.loads(sent)["messages"] if m["role"] == "tool"]
    assert said[-2:] == [M, "a listing"]
