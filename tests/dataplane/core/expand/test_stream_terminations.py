"""How a spliced Anthropic stream may end (03 §4.5 (T1 to T5), 10.7)."""

from __future__ import annotations

import pytest

from dataplane.core.expand.stream import MAX_RETAINED_BYTES
from dataplane.core.expand.stream_anthropic import BROKEN_OFF
from dataplane.core.tools.tool import EXPAND
from dataplane.core.wire.usage import Usage
from tests.dataplane.core.expand.scripts import (
    Script,
    anthropic,
    ending,
    event,
    kinds,
    opening,
    play,
    stream_relay,
    text,
    tool_use,
)

PING = event("ping")
FIRST = anthropic(text(0, "Let me ", "look ✓."), tool_use(1), stop_reason="tool_use")
SECOND = anthropic(text(0, "It says ✓."), input_tokens=40)


def test_99_a_refused_continuation_gives_back_what_was_withheld() -> None:
    refused = None

    played = play(stream_relay(), FIRST, refused)

    assert played.client == FIRST.body
    assert played.outcome == "next_failed"
    assert played.relay.expand_after_stream


@pytest.mark.parametrize(
    ("status", "content_type", "accepted"),
    [
        (200, "text/event-stream; charset=utf-8", True),
        (200, "Text/Event-Stream", True),
        (200, "application/json", False),
        (500, "text/event-stream", False),
        (529, "application/json", False),
    ],
)
def test_99_only_a_stream_can_continue_a_stream(
    status: int, content_type: str, *, accepted: bool
) -> None:
    assert stream_relay().accepts(status, content_type) is accepted


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(Script([], cut=True), id="99-no-byte"),
        pytest.param(Script([opening(), PING], cut=True), id="99-no-content"),
        pytest.param(
            Script([opening(), event("error", error={"type": "overloaded_error"})]),
            id="99-error-event",
        ),
        pytest.param(
            Script([opening(), event("content_block_start", index=0)[:-9]], cut=True),
            id="99-half-an-event",
        ),
        pytest.param(
            anthropic(tool_use(0), stop_reason="tool_use").until(b"event: message_delta"),
            id="99-half-a-call",
        ),
    ],
)
def test_99_a_continuation_without_content_counts_as_refused(second: Script) -> None:
    played = play(stream_relay(), FIRST, second)

    assert played.client.replace(PING, b"") == FIRST.body
    assert played.outcome == "next_failed"


def test_99_withheld_blocks_of_a_later_round_keep_their_place() -> None:
    again = anthropic(text(0, "more"), tool_use(1, call_id="t2"), stop_reason="tool_use")

    played = play(stream_relay(), FIRST, again, None)

    assert played.client == (
        opening()
        + text(0, "Let me ", "look ✓.")
        + text(1, "more")
        + tool_use(2, call_id="t2")
        + ending("tool_use")
    )


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(SECOND.until(b"event: content_block_stop"), id="100-in-a-block"),
        pytest.param(SECOND.until(b'{"type":"content_block_stop"'), id="100-in-an-event"),
        pytest.param(
            Script([SECOND.until(b"event: content_block_stop").body
                    + event("error", error={"type": "overloaded_error"})]),
            id="100-error-event",
        ),
    ],
)  # fmt: skip
def test_100_a_continuation_cut_in_its_content_is_ended_by_the_round_before(
    second: Script,
) -> None:
    played = play(stream_relay(), FIRST, second)

    written = text(1, "It says ✓.").partition(b"event: content_block_stop")[0]
    assert played.client == (
        opening() + text(0, "Let me ", "look ✓.") + written + ending("tool_use")
    )
    assert played.outcome == "next_cut"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(SECOND.until(b"event: content_block_stop"), id="101-nothing-withheld"),
        pytest.param(Script(SECOND.until(b"event: content_block_stop").chunks), id="101-clean-end"),
    ],
)
def test_101_a_stream_that_breaks_off_says_so_and_is_never_ended(script: Script) -> None:
    played = play(stream_relay(), script)

    broken_off = played.client.removeprefix(script.body)
    assert broken_off.startswith(b'event: error\ndata: {"type":"error","error":{"type":"api_error"')
    assert b"message_stop" not in played.client
    assert played.outcome == "truncated"


def test_101_a_call_in_a_stream_that_breaks_off_is_taken_out_of_what_arrived() -> None:
    played = play(stream_relay(), FIRST.until(b"event: message_delta"))

    arrived, _, error = played.client.partition(b"event: error")
    assert arrived == opening() + text(0, "Let me ", "look ✓.")
    assert error
    assert played.outcome == "truncated"


def test_101_half_an_event_is_left_out_so_that_the_error_is_read_as_one() -> None:
    script = SECOND.until(b'"content_block_stop"')

    played = play(stream_relay(), script)

    assert kinds(played.client)[-2:] == ["content_block_delta", "error"]


@pytest.mark.parametrize("half", [b'data: {"type":"message_stop"', b'"message_stop"}'])
def test_101_half_of_the_last_event_does_not_end_the_stream(half: bytes) -> None:
    played = play(stream_relay(), SECOND.until(half))

    assert kinds(played.client)[-2:] == ["message_delta", "error"]
    assert played.outcome == "truncated"


def test_w_09_an_error_of_the_upstream_ends_the_stream_and_is_not_repeated() -> None:
    script = Script(
        [
            opening(cache_read_input_tokens=4000),
            event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            event("error", error={"details": None, "type": "overloaded_error", "message": "Busy"}),
        ]
    )

    played = play(stream_relay(), script)

    assert played.client == script.body
    assert (played.outcome, played.relay.error_type) == ("error", "overloaded_error")
    assert played.relay.stop_reason is None
    assert played.relay.usage[0].usage == Usage(fresh_input=12, cache_read=4000, output=1)


def test_102_a_call_beyond_the_limit_is_flushed_and_the_stream_passes_through() -> None:
    piece = "x" * (1 << 20)
    huge = tool_use(1, EXPAND, '{"id":"', *[piece] * 17, '"}')
    script = anthropic(text(0, "Hm."), huge, stop_reason="tool_use").split(1 << 16)
    relay = stream_relay()
    held_back = 0
    received = sent = 0
    for chunk in script.chunks:
        received += len(chunk)
        sent += len(relay.feed(chunk))
        held_back = max(held_back, received - sent)

    played = play(stream_relay(), script)

    assert played.client == script.body
    assert played.outcome == "oversize"
    assert held_back <= MAX_RETAINED_BYTES + (3 << 20)


def test_102_one_event_beyond_the_limit_is_flushed_as_it_comes() -> None:
    huge = tool_use(0, EXPAND, "x" * (9 << 20))
    script = anthropic(huge, stop_reason="tool_use").split(1 << 20)

    played = play(stream_relay(), script)

    assert played.client == script.body
    assert played.outcome == "oversize"


def test_102_a_long_text_is_not_kept_for_ever_and_never_delayed() -> None:
    piece = text(0, "x" * (1 << 20))
    script = anthropic(*[piece] * 18, tool_use(1), stop_reason="tool_use")

    played = play(stream_relay(), script)

    assert played.sent == [*script.chunks, b""]
    assert played.outcome == "oversize"


@pytest.mark.parametrize(
    ("boundary", "separator"),
    [(b"event: content_block_stop", b""), (b"_block_stop", b"\n\n")],
    ids=["101-between-events", "101-in-an-event"],
)
def test_101_a_relayed_stream_that_breaks_off_says_so_too(
    boundary: bytes, separator: bytes
) -> None:
    script = SECOND.until(boundary)

    played = play(stream_relay(interceptable=False), script)

    assert played.client == script.body + separator + BROKEN_OFF
    assert played.outcome == "truncated"
