"""Responses that are one JSON body, and relays that change nothing (03 §2.9, 10.6)."""

from __future__ import annotations

import json

import pytest

from dataplane.core.expand import body as body_module
from dataplane.core.expand.opening import open_relay
from dataplane.core.expand.relay import Call, Relay
from dataplane.core.tools.tool import EXPAND
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import Reading, Usage, total
from tests.dataplane.core.expand.scripts import (
    ID,
    ORIGINAL,
    Json,
    Script,
    body_relay,
    compact,
    play,
)

CHAT = Dialect.OPENAI_CHAT


def ask(marker_id: str = ID, call_id: str = "toolu_1") -> Json:
    return {"type": "tool_use", "id": call_id, "name": EXPAND, "input": {"id": marker_id}}


def message(*content: Json, stop_reason: str = "end_turn", tokens: int = 10) -> Script:
    value = {
        "id": "msg_1",
        "model": "model-a",
        "content": content,
        "stop_reason": stop_reason,
        "usage": {"input_tokens": tokens, "output_tokens": 2},
    }
    return Script([compact(value)])


def completion(*choices: Json) -> Script:
    usage = {"prompt_tokens": 50, "completion_tokens": 5}
    return Script([compact({"model": "gpt-a", "choices": choices, "usage": usage})])


def chat_call(call_id: str, name: str = EXPAND, arguments: str = f'{{"id":"{ID}"}}') -> Json:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def choice(*calls: Json, reason: str = "tool_calls", index: int = 0) -> Json:
    turn = {"role": "assistant", "content": None, "refusal": None, "tool_calls": calls}
    return {"index": index, "message": turn, "finish_reason": reason}


DONE = message({"type": "text", "text": "done"}, tokens=30)
BASH: Json = {"type": "tool_use", "id": "toolu_9", "name": "bash", "input": {}}


def test_78_the_client_gets_what_every_round_said_and_the_usage_of_the_last() -> None:
    content = b'[{"type":"text", "text":"\\u2713"},' + compact(ask()) + b"]"
    first = Script(
        [b'{"content":' + content + b',"stop_reason":"tool_use","usage":{"input_tokens":10}}']
    )

    played = play(body_relay(), first.split(50), DONE)

    got = json.loads(played.client)
    assert got.pop("content") == [
        {"type": "text", "text": "✓"},
        {"type": "text", "text": "done"},
    ]
    assert got == {n: v for n, v in json.loads(DONE.body).items() if n != "content"}
    assert played.outcome == "ok"
    assert played.requests[0] == (
        b'{"role":"assistant","content":' + content + b"}",
        b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":'
        + compact(ORIGINAL)
        + b"}]}",
    )
    assert total(played.relay.usage) == Usage(fresh_input=40, output=2)


def test_79_every_call_is_answered_in_its_order() -> None:
    first = message(ask(), ask("c4", "t2"), ask(call_id="t3"), stop_reason="tool_use")

    played = play(body_relay(), first, DONE)

    assert [call.call_id for call in played.calls[0]] == ["toolu_1", "t2", "t3"]
    results = json.loads(played.requests[0][1])["content"]
    assert [result["tool_use_id"] for result in results] == ["toolu_1", "t2", "t3"]


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        pytest.param(
            message({"type": "text", "text": "x"}, ask(), BASH, stop_reason="tool_use"),
            "bail",
            id="84-other-tool",
        ),
        pytest.param(message(BASH, stop_reason="tool_use"), "ok", id="84-only-other-tools"),
        pytest.param(
            message({"type": "text", "text": "I know context_guru_expand"}), "ok", id="only-named"
        ),
        pytest.param(Script([b'{"content": "context_guru_expand" '] * 2), "bail", id="no-json"),
        pytest.param(Script([b'{"content":["context_guru_expand"]}']), "bail", id="no-blocks"),
        pytest.param(Script([b""]), "ok", id="empty"),
    ],
)
def test_a_body_without_an_answerable_call_is_delivered_unchanged(
    script: Script, outcome: str
) -> None:
    played = play(body_relay(), script)

    assert played.client == script.body
    assert played.outcome == outcome
    assert not played.relay.expand_after_stream


def test_85_the_fourth_call_in_a_row_is_taken_out() -> None:
    asks = [message(ask(), stop_reason="tool_use", tokens=tokens) for tokens in range(4)]

    played = play(body_relay(), *asks)

    assert len(played.requests) == 3
    assert json.loads(played.client) == {**json.loads(asks[3].body), "content": []}
    assert played.outcome == "cap"


def test_87_a_call_that_was_cut_is_taken_out_and_the_finish_word_stays() -> None:
    said = {"type": "text", "text": "Hm."}

    played = play(body_relay(), message(said, ask(), stop_reason="max_tokens"))

    assert played.client == message(said, stop_reason="max_tokens").body
    assert played.outcome == "bail"


@pytest.mark.parametrize(
    "second", [None, Script([b'{"cont'], cut=True)], ids=["86-refused", "86-cut"]
)
def test_86_a_failed_continuation_gives_the_client_the_response_before(
    second: Script | None,
) -> None:
    first = message(ask(), stop_reason="tool_use")

    played = play(body_relay(), first, second)

    assert played.client == first.body
    assert played.outcome == "next_failed"


def test_86_only_json_can_continue_json() -> None:
    relay = body_relay()

    assert relay.accepts(200, "application/json; charset=utf-8")
    assert not relay.accepts(529, "application/json")
    assert not relay.accepts(200, "text/event-stream")


def test_90_two_calls_are_answered_by_two_tool_messages() -> None:
    first = completion(choice(chat_call("c1"), chat_call("c2", arguments="")))

    played = play(body_relay(CHAT), first, completion(choice(reason="stop")))

    assert played.calls == [(Call("c1", EXPAND, ID), Call("c2", EXPAND, None))]
    calls = [chat_call("c1"), chat_call("c2", arguments="")]
    assert played.appended()[0][0] == {
        "role": "assistant",
        "content": None,
        "tool_calls": calls,
    }
    assert played.appended()[0][1]["tool_call_id"] == "c1"  # type: ignore[index]
    assert played.appended()[0][2]["tool_call_id"] == "c2"  # type: ignore[index]


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        pytest.param(
            completion(choice(chat_call("c1")), choice(chat_call("c2"), index=1)),
            [[], []],
            id="90-n-2",
        ),
        pytest.param(
            completion(choice(chat_call("c1"), chat_call("c2", "bash"))),
            [[EXPAND, "bash"]],
            id="84-bash",
        ),
        pytest.param(
            completion(choice(chat_call("c1"), chat_call("c2", "bash"), reason="length")),
            [["bash"]],
            id="84-bash-cut",
        ),
        pytest.param(completion(choice(chat_call("c1"), reason="length")), [[]], id="87-length"),
        pytest.param(
            completion(choice(chat_call("c1", arguments='{"id'))), [[]], id="87-cut-arguments"
        ),
        pytest.param(completion(choice(chat_call(""))), [[]], id="87-no-call-id"),
    ],
)
def test_a_completion_that_cannot_be_answered_keeps_the_calls_of_the_client(
    script: Script, kept: list[list[str]]
) -> None:
    played = play(body_relay(CHAT), script)

    sent, got = json.loads(script.body)["choices"], json.loads(played.client)["choices"]
    calls = [each["message"].pop("tool_calls", []) for each in got]
    assert [[call["function"]["name"] for call in listed] for listed in calls] == kept
    assert [each["finish_reason"] for each in got] == [each["finish_reason"] for each in sent]
    assert played.outcome == "bail"


def test_a_refusal_is_echoed_with_the_turn() -> None:
    turn = {"content": "a", "refusal": "no", "tool_calls": [chat_call("c1")]}
    first = completion({"message": turn, "finish_reason": "tool_calls"})

    played = play(body_relay(CHAT), first, completion(choice(reason="stop")))

    assert played.appended()[0][0] == {"role": "assistant", **turn}


def test_a_cut_body_is_delivered_as_far_as_it_came() -> None:
    script = Script([DONE.body[:40]], cut=True)

    played = play(body_relay(), script)

    assert played.client == script.body
    assert played.outcome == "truncated"
    assert played.relay.usage[0].reading is Reading.UNREADABLE


def test_a_body_beyond_the_limit_passes_through_and_is_still_billed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(body_module, "MAX_HELD_BYTES", 100)
    script = message(ask(), {"type": "text", "text": "x" * 300_000}, stop_reason="tool_use")

    played = play(body_relay(), script.split(4096))

    assert played.client == script.body
    assert played.sent[1:-1] == list(script.split(4096).chunks)[1:]
    assert played.outcome == "oversize"
    assert played.relay.usage[0].usage == Usage(fresh_input=10, output=2)


def plain(status: int = 200, content_type: str = "application/json") -> Relay:
    return open_relay(
        dialect=Dialect.ANTHROPIC, status=status, content_type=content_type, interceptable=False
    )


@pytest.mark.parametrize("length", [10, 300_000], ids=["held-whole", "only-its-ends"])
def test_a_relayed_body_is_untouched_and_its_usage_found(length: int) -> None:
    script = message({"type": "text", "text": '"usage":{"input_tokens":7}' + "x" * length})

    played = play(plain(), script.split(1000))

    assert played.sent == [*script.split(1000).chunks, b""]
    assert played.relay.usage[0].usage == Usage(fresh_input=10, output=2)
    assert played.relay.usage[0].reading is Reading.READ
    assert (played.relay.model, played.relay.stop_reason) == ("model-a", "end_turn")


def test_a_large_body_without_usage_in_its_ends_is_unreadable_and_not_free() -> None:
    played = play(plain(), Script([b"x" * 400_000]))

    assert played.relay.usage[0].reading is Reading.UNREADABLE


def test_a_body_that_never_has_usage_is_not_unreadable() -> None:
    played = play(plain(), Script([b'{"input_tokens":14}']))

    assert played.relay.usage[0].reading is Reading.ABSENT


@pytest.mark.parametrize(
    ("body", "error_type"),
    [
        (b'{"error":{"type":"overloaded_error","message":"Busy"}}', "overloaded_error"),
        (b"<html>bad gateway</html>", "api_error"),
    ],
    ids=["w-21-json", "w-21-html"],
)
def test_w_21_an_error_response_is_untouched_and_named(body: bytes, error_type: str) -> None:
    relay = open_relay(
        dialect=Dialect.ANTHROPIC, status=529, content_type="application/json", interceptable=True
    )

    played = play(relay, Script([body]))

    assert played.client == body
    assert (played.outcome, relay.error_type) == ("error", error_type)
    assert relay.usage[0].reading is Reading.ABSENT


def test_an_error_status_on_an_event_stream_is_not_inspected() -> None:
    played = play(plain(500, "text/event-stream"), Script([b"data: x\n\n"], cut=True))

    assert played.client == b"data: x\n\n"
    assert played.outcome == "truncated"


@pytest.mark.parametrize("method", ["next_round", "round_failed", "continuation"])
def test_a_relay_that_never_answers_cannot_be_continued(method: str) -> None:
    arguments: list[object] = [[]] if method == "continuation" else []

    with pytest.raises(NotImplementedError):
        getattr(plain(), method)(*arguments)
    assert not plain().accepts(200, "application/json")
