"""Events that no provider documents are forwarded as they came (03 §8.3, 08 §W-08)."""

from __future__ import annotations

import json

import pytest

from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import Reading, Usage
from tests.dataplane.core.expand.scripts import (
    DONE,
    ROLE,
    Script,
    anthropic,
    body_relay,
    call_chunks,
    chunk,
    delta,
    ending,
    event,
    finish,
    openai,
    opening,
    play,
    stream_relay,
    text,
    tool_use,
)

CHAT = Dialect.OPENAI_CHAT


@pytest.mark.parametrize("interceptable", [True, False])
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([event("ping"), opening(), event("ping"), text(0, "a")], id="w-08-early-ping"),
        pytest.param([opening(), b'event: ping\ndata: {"type": "ping"}\n\n'], id="w-08-spacing"),
        pytest.param([opening(), event("future_notice", k=[1, 2])], id="w-08-unknown-type"),
        pytest.param([opening(), b"data: nonsense\n\ndata: 7\n\n"], id="no-type"),
        pytest.param([opening(), b"event: content_block_start\ndata: {\n\n"], id="no-json"),
        pytest.param([opening(), b"event: content_block_start\ndata: {}\n\n"], id="no-block"),
    ],
)
def test_an_anthropic_stream_with_strange_events_is_unchanged(
    parts: list[bytes], *, interceptable: bool
) -> None:
    script = Script([*parts, ending("end_turn")])

    played = play(stream_relay(interceptable=interceptable), script)

    assert played.client == script.body
    assert played.outcome == "ok"
    assert played.relay.usage[0].usage == Usage(fresh_input=12, output=9)


def test_usage_in_events_that_cannot_be_read_is_unreadable_and_not_free() -> None:
    broken = b'event: message_start\ndata: {"type":"message_start","message":\n\n'

    played = play(stream_relay(), Script([broken, event("message_stop")]))

    assert played.relay.usage[0].reading is Reading.UNREADABLE


@pytest.mark.parametrize(
    "block",
    [
        b'event: content_block_delta\ndata: {"index":0,"index":0,"delta":{"text":"a"}}\n\n',
        b'event: content_block_delta\ndata: {"index":null,"delta":{"text":"a"}}\n\n',
        b'event: content_block_delta\ndata: {"delta":{"text":"a"}}\n\n',
    ],
    ids=["two-indices", "no-number", "no-index"],
)
def test_a_block_event_without_one_index_is_forwarded_as_it_came(block: bytes) -> None:
    first = anthropic(text(0, "a"), tool_use(1), stop_reason="tool_use")

    played = play(stream_relay(), first, anthropic(block))

    assert block in played.client


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(delta(tool_calls="none"), id="tool-calls-no-list"),
        pytest.param(delta(tool_calls=[{}, {"function": {"name": None}}]), id="tool-calls-no-name"),
        pytest.param(delta(tool_calls=None), id="tool-calls-null"),
        pytest.param(chunk({"delta": None}), id="delta-null"),
        pytest.param(chunk({}), id="no-delta"),
        pytest.param(b'data: {"id":"a","id":"b","choices":[{"delta":{}}]}\n\n', id="two-ids"),
    ],
)
def test_an_openai_stream_with_strange_chunks_is_unchanged(part: bytes) -> None:
    script = Script([part, ROLE, part, delta(content="Hi"), finish("stop")])

    played = play(stream_relay(CHAT), script)

    assert played.client == script.body
    assert played.outcome == "ok"


@pytest.mark.parametrize(
    ("part", "forwarded"),
    [
        pytest.param(chunk({"delta": None}), chunk({"delta": None}), id="delta-null"),
        pytest.param(chunk({}), chunk({}), id="no-delta"),
        pytest.param(
            b'data: {"id":"a","id":"b","choices":[{"delta":{"content":"c"}}]}\n\n',
            b'data: {"id":"a","id":"b","choices":[{"delta":{"content":"c"}}]}\n\n',
            id="two-ids",
        ),
        pytest.param(b'data: {"id":"a"}\n\n', b'data: {"id":"chatcmpl-1"}\n\n', id="no-choices"),
    ],
)
def test_a_strange_chunk_of_a_later_round_is_forwarded(part: bytes, forwarded: bytes) -> None:
    first = openai(call_chunks(0), reason="tool_calls")

    played = play(stream_relay(CHAT), first, Script([part, delta(content="c"), DONE]))

    assert played.client == ROLE + forwarded + delta(content="c") + DONE


def test_chunks_without_choices_or_delta_do_not_keep_a_turn_from_being_read() -> None:
    bare = chunk({"delta": None}) + b'data: {"choices":null}\n\n' + b"data: {}\n\n"
    first = Script([ROLE, call_chunks(0), bare, finish("tool_calls")])

    played = play(stream_relay(CHAT), first, openai(delta(content="c")))

    assert len(played.requests) == 1


def test_chunks_whose_first_names_no_completion_keep_their_own_names() -> None:
    nameless = b'data: {"id":"a","id":"a","choices":[{"delta":{"role":"assistant"}}]}\n\n'
    first = Script([nameless, call_chunks(0), finish("tool_calls")])
    second = Script([chunk({"delta": {"content": "Hi"}}, id="other"), DONE])

    played = play(stream_relay(CHAT), first, second)

    assert chunk({"delta": {"content": "Hi"}}) in played.client


@pytest.mark.parametrize("interceptable", [True, False])
def test_a_response_without_a_body_has_no_usage_to_read(*, interceptable: bool) -> None:
    played = play(body_relay(CHAT, interceptable=interceptable), Script([]))

    assert (played.client, played.outcome) == (b"", "ok")


def test_an_error_chunk_on_a_relayed_openai_stream_makes_it_an_error() -> None:
    script = Script([ROLE, b'data: {"error":{"type":"server_error","message":"m"}}\n\n', DONE])

    played = play(stream_relay(CHAT, interceptable=False), script)

    assert played.client == script.body
    assert (played.outcome, played.relay.error_type) == ("error", "server_error")


PARTS = [{"type": "text", "text": "Hi"}]


def test_a_turn_whose_text_comes_in_lists_of_parts_is_echoed_as_one_list() -> None:
    script = openai(delta(content=PARTS), delta(content=PARTS), call_chunks(0), reason="tool_calls")

    played = play(stream_relay(CHAT), script, openai(delta(content="done")))

    assert json.loads(played.requests[0][0])["content"] == PARTS * 2


@pytest.mark.parametrize("piece", [{"text": "Hi"}, 5, True])
def test_a_turn_whose_text_is_no_text_loses_its_call_and_is_not_echoed(piece: object) -> None:
    said = delta(content=piece)

    played = play(stream_relay(CHAT), openai(said, call_chunks(0), reason="tool_calls"))

    assert played.client == openai(said, reason="tool_calls").body
    assert played.outcome == "bail"
    assert played.requests == []


TAIL = b'data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}'


@pytest.mark.parametrize(
    ("other", "outcome"),
    [
        pytest.param(call_chunks(1, name="bash", call_id="call_2"), "bail", id="handed over"),
        pytest.param(b"", "next_failed", id="continuation refused"),
    ],
)
def test_bytes_behind_the_last_event_reach_the_client_with_what_was_withheld(
    other: bytes, outcome: str
) -> None:
    script = Script([ROLE, call_chunks(0), other, finish("tool_calls"), TAIL])

    played = play(stream_relay(CHAT), script, None)

    assert played.client == script.body
    assert played.outcome == outcome
