"""Responses turns through the relays (03-proxy-and-recovery.md 2.9, 4.4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.expand.opening import open_relay
from dataplane.core.expand.relay import Relay
from dataplane.core.expand.terms import Terms
from dataplane.core.tools.tool import DECLARED, EXPAND
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import Usage
from tests.dataplane.core.expand.scripts import ID, ORIGINAL, Script, compact, play

USAGE = {
    "input_tokens": 40,
    "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 4},
    "output_tokens": 9,
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": EXPAND,
    "arguments": json.dumps({"id": ID}),
    "status": "completed",
}
BASH = {**CALL, "call_id": "call_2", "name": "bash", "arguments": "{}"}
SAID = {"type": "message", "role": "assistant", "content": []}


def body(*output: object, status: str = "completed", **members: Any) -> Script:
    whole = {"model": "gpt-5.6", "status": status, "error": None, "output": output}
    return Script([compact({**whole, "usage": USAGE, **members})])


def relay(*, stores: bool = True, content_type: str = "application/json") -> Relay:
    return open_relay(
        dialect=Dialect.OPENAI_RESPONSES,
        status=200,
        content_type=content_type,
        interceptable=content_type == "application/json",
        terms=Terms(stores=stores),
    )


def test_the_definition_is_that_of_the_specification() -> None:
    definition = DECLARED[Dialect.OPENAI_RESPONSES].definition

    assert json.loads(definition) == {
        **json.loads(DECLARED[Dialect.OPENAI_CHAT].definition)["function"],
        "type": "function",
        "strict": False,
    }
    assert definition.startswith(b'{"type":"function","name":"context_guru_expand","description":')
    assert definition.endswith(b',"strict":false}')


def test_a_recovery_call_is_answered_behind_all_items_of_its_turn() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e=="}
    found = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    last = body(SAID)

    played = play(relay(stores=False), body(reasoning, found, SAID, CALL), last)

    assert played.client == body(reasoning, found, SAID, SAID).body
    echoed, result = played.requests[0]
    assert json.loads(b"[" + echoed + b"]") == [reasoning, found, SAID, CALL]
    assert json.loads(result) == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": ORIGINAL,
    }
    assert [each.usage for each in played.relay.usage] == [Usage(6, 30, 4, 0, 9)] * 2
    assert played.relay.model == "gpt-5.6"


@pytest.mark.parametrize(
    "other",
    [BASH, {"type": "custom_tool_call"}, {"type": "local_shell_call"}, {"type": "of_next_year"}],
)
def test_a_turn_with_a_call_for_the_client_goes_to_the_client(other: dict[str, Any]) -> None:
    first = body(CALL, other)

    played = play(relay(), first)

    assert (played.outcome, played.client) == ("bail", first.body)


def test_reasoning_that_nobody_kept_is_no_matter_without_a_call() -> None:
    script = body({"type": "reasoning", "id": "rs_1"}, SAID)

    assert play(relay(stores=False), script).outcome == "ok"


# ---- streams ----------------------------------------------------------------------------------


def stream(*events: dict[str, Any]) -> Script:
    return Script([b"event: %s\ndata: %s\n\n" % (e["type"].encode(), compact(e)) for e in events])


CREATED = {"type": "response.created", "response": {"model": "gpt-5.6", "usage": None}}


def ended(kind: str, **members: Any) -> dict[str, Any]:
    response = {"model": "gpt-5.6-x", "status": kind, "usage": USAGE, **members}
    return {"type": f"response.{kind}", "response": response}


DELTA = {"type": "response.output_text.delta", "delta": EXPAND}


def test_a_stream_is_relayed_as_it_comes_and_its_usage_read_at_the_end() -> None:
    script = stream(CREATED, DELTA, ended("completed"))

    played = play(relay(content_type="text/event-stream"), script)

    assert played.sent[:3] == list(script.chunks)
    assert (played.outcome, played.client) == ("ok", script.body)
    assert played.relay.usage[0].usage == Usage(6, 30, 4, 0, 9)
    assert played.relay.model == "gpt-5.6-x"


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([CREATED, ended("incomplete")], "ok"),
        ([CREATED, ended("failed", error={"code": "server_error"})], "error"),
        ([CREATED, {"type": "error", "code": "overloaded"}], "error"),
        ([CREATED, DELTA], "truncated"),
    ],
)
def test_how_a_stream_ended_is_known(events: list[dict[str, Any]], outcome: str) -> None:
    script = stream(*events)

    played = play(relay(content_type="text/event-stream"), script)

    assert (played.outcome, played.client) == (outcome, script.body)


def test_an_end_that_cannot_be_read_leaves_the_usage_unknown() -> None:
    script = Script([b"event: response.completed\ndata: {\n\n"])

    played = play(relay(content_type="text/event-stream"), script)

    assert played.relay.usage[0].reading.value == "usage_unreadable"
