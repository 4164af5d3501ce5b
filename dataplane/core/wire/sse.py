"""Server-sent events from bytes, however the network cut them.

Every byte comes out again: the `raw` of all events and the tail, joined, are the input.
Source: 03-proxy-and-recovery.md 4.5 (parser requirements), 8.3.
"""

from __future__ import annotations

import re

MAX_EVENT_BYTES = 8 << 20

# A blank line. It may only end on "\r" when the next byte is known not to be "\n"; except for
# "\r\r", where a stream of bare carriage returns must not wait for its next event.
_BLANK_LINE = re.compile(rb"\r\r|\n(?:\n|\r\n|\r(?=[^\n]))")
_LONGEST_UNDECIDED = 2  # bytes at the end of a chunk in which a blank line may have begun
# How nearly every event is written; read in one step.
_USUAL = re.compile(rb"(?:event: (?P<name>[^\r\n]*)\r?\n)?data: (?P<data>[^\r\n]*)(?:\r?\n){2}")
_BOM = b"\xef\xbb\xbf"


class SseEvent:
    """One event as it came: its bytes, with the blank line that ends it.

    fragment: the bytes are a piece of an event that is too large to be held. A block of comments
    is an event without name and data.
    """

    __slots__ = ("_fields", "fragment", "raw")

    def __init__(self, raw: bytes, *, fragment: bool = False) -> None:
        self.raw = raw
        self.fragment = fragment
        self._fields: tuple[bytes, bytes] | None = None

    @property
    def name(self) -> bytes:
        """The last `event` field, empty when there is none."""
        return self._read()[0]

    @property
    def data(self) -> bytes:
        """The `data` lines, joined by a line feed; empty when there are none."""
        return self._read()[1]

    def _read(self) -> tuple[bytes, bytes]:
        if self._fields is None:
            self._fields = (b"", b"") if self.fragment else _fields(self.raw)
        return self._fields


def _fields(raw: bytes) -> tuple[bytes, bytes]:
    if usual := _USUAL.fullmatch(raw):
        return usual["name"] or b"", usual["data"]
    name, lines = b"", []
    for line in raw.removeprefix(_BOM).splitlines():
        field, _, value = line.partition(b":")
        if field == b"data":
            lines.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    return name, lines[0] if len(lines) == 1 else b"\n".join(lines)


class SseParser:
    """Feed it chunks of any size; it holds at most one incomplete event.

    max_event_bytes: an event that grows beyond this leaves in fragments, as its bytes come.
    """

    __slots__ = ("_held", "_in_fragments", "_max_event_bytes", "_scanned")

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._held = bytearray()
        self._scanned = 0
        self._max_event_bytes = max_event_bytes
        self._in_fragments = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes, in their order."""
        self._held += chunk
        start = max(0, self._scanned - _LONGEST_UNDECIDED)
        ends = [found.end() for found in _BLANK_LINE.finditer(self._held, start)]
        events = self._take(ends) if ends else []
        if len(self._held) > self._max_event_bytes:
            self._in_fragments = True
            # The last bytes stay: a blank line may have begun in them.
            kept = len(self._held) - _LONGEST_UNDECIDED
            events.append(SseEvent(self._cut(kept), fragment=True))
        self._scanned = len(self._held)
        return events

    def tail(self) -> bytes:
        """The bytes after the last complete event."""
        return bytes(self._held)

    def _take(self, ends: list[int]) -> list[SseEvent]:
        block = self._cut(ends[-1])
        events = []
        position = 0
        for end in ends:
            raw = block[position:end]
            fragment = self._in_fragments or len(raw) > self._max_event_bytes
            events.append(SseEvent(raw, fragment=fragment))
            self._in_fragments = False
            position = end
        return events

    def _cut(self, end: int) -> bytes:
        block = bytes(memoryview(self._held)[:end])
        del self._held[:end]
        return block
