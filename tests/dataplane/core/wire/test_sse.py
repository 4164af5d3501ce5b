"""Server-sent events from bytes, however the network cut them (03 §4.5 and 8.3)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.wire.sse import SseEvent, SseParser

LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
LINES = st.sampled_from(
    [
        b"",
        b": comment",
        b"event: ping",
        b"data: {}",
        "data: ✓ naïve".encode(),
        b"data:",
        b"retry: 3",
    ]
)
STREAMS = st.lists(st.tuples(LINES, LINE_ENDS), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


def parsed(stream: bytes, cuts: list[int] | None = None) -> tuple[list[SseEvent], bytes]:
    """The events of a stream that arrived in pieces, and the bytes after the last of them."""
    parser = SseParser()
    bounds = [0, *sorted(cuts or []), len(stream)]
    events = [
        event
        for start, end in itertools.pairwise(bounds)
        for event in parser.feed(stream[start:end])
    ]
    return events, parser.tail()


def seen(events: list[SseEvent]) -> list[tuple[bytes, bytes, bytes]]:
    return [(event.raw, event.name, event.data) for event in events]


@given(stream=STREAMS, cuts=st.lists(st.integers(0, 400), max_size=20))
def test_events_do_not_depend_on_where_the_network_cut_the_bytes(
    stream: bytes, cuts: list[int]
) -> None:
    whole, tail = parsed(stream)
    pieces, tail_of_pieces = parsed(stream, [min(cut, len(stream)) for cut in cuts])

    assert seen(pieces) == seen(whole)
    assert tail_of_pieces == tail


@given(stream=STREAMS)
def test_the_fields_of_an_event_are_those_of_its_lines(stream: bytes) -> None:
    events, _ = parsed(stream)

    for event in events:
        lines = event.raw.splitlines()
        pairs = [(field, value) for field, _, value in (line.partition(b":") for line in lines)]
        values = [value.removeprefix(b" ") for field, value in pairs if field == b"data"]
        names = [value.removeprefix(b" ") for field, value in pairs if field == b"event"]
        assert event.data == b"\n".join(values)
        assert event.name == (names[-1] if names else b"")


@given(stream=STREAMS | st.binary(max_size=200))
def test_every_byte_comes_out_again(stream: bytes) -> None:
    events, tail = parsed(stream, list(range(len(stream))))

    assert b"".join(event.raw for event in events) + tail == stream


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_each_kind_of_line_end_ends_an_event_as_soon_as_its_bytes_are_there(end: bytes) -> None:
    stream = b"event: ping" + end + b"data: {}" + end + end

    events, tail = parsed(stream)

    assert seen(events) == [(stream, b"ping", b"{}")]
    assert tail == b""


def test_line_ends_may_be_mixed_inside_one_stream() -> None:
    events, _ = parsed(b"data: 1\r\n\ndata: 2\n\r\ndata: 3\r\rdata: 4\n\n")

    assert [event.data for event in events] == [b"1", b"2", b"3", b"4"]


def test_a_carriage_return_at_the_end_of_a_chunk_waits_for_its_line_feed() -> None:
    parser = SseParser()

    assert parser.feed(b"data: 1\r\n\r") == []
    assert [event.raw for event in parser.feed(b"\ndata: 2")] == [b"data: 1\r\n\r\n"]


def test_several_data_lines_are_one_value() -> None:
    (event,), _ = parsed(b"data: one\ndata:two\ndata:  three\n\n")

    assert event.data == b"one\ntwo\n three"


def test_comments_and_unknown_fields_are_an_event_without_name_and_data() -> None:
    (event,), _ = parsed(b": keep-alive\nretry: 3000\n\n")

    assert (event.name, event.data) == (b"", b"")


def test_a_byte_order_mark_does_not_hide_the_first_field() -> None:
    (event,), _ = parsed(b"\xef\xbb\xbfdata: 1\n\n")

    assert event.data == b"1"
    assert event.raw.startswith(b"\xef\xbb\xbf")


def test_a_character_that_was_cut_is_whole_again() -> None:
    stream = "data: ✓\n\n".encode()

    events, _ = parsed(stream, [7])

    assert [event.data for event in events] == ["✓".encode()]


def test_bytes_without_a_blank_line_stay_in_the_tail() -> None:
    events, tail = parsed(b"data: 1\n\ndata: [DONE]\n")

    assert [event.data for event in events] == [b"1"]
    assert tail == b"data: [DONE]\n"


@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_event_beyond_the_limit_leaves_in_fragments_and_is_never_held(size: int) -> None:
    stream = b"data: 1\n\ndata: " + b"x" * 200 + b"\r\n\r\n" + b"data: 2\n\n"
    parser = SseParser(max_event_bytes=32)
    events = []
    for start in range(0, len(stream), size):
        events += parser.feed(stream[start : start + size])
        assert len(parser.tail()) <= 32

    assert b"".join(event.raw for event in events) == stream
    assert [event.data for event in events if not event.fragment] == [b"1", b"2"]
