"""The splice of Anthropic event streams.

The official client drops events without an `event:` line, fails on a gap in the block indices and
merges text into the wrong block on a repeated one: so lines are kept and indices continue.
Source: 03-proxy-and-recovery.md 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dataplane.core.expand import reply_anthropic
from dataplane.core.expand.facts import kind_of
from dataplane.core.expand.raw import members_of, object_of
from dataplane.core.expand.relay import ToolResult
from dataplane.core.expand.rounds import Reply
from dataplane.core.expand.stream import SpliceRelay, with_data
from dataplane.core.tools.tool import is_injected
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import UnparseableError, members, whole
from dataplane.core.wire.splice import Edit, splice
from dataplane.core.wire.sse import SseEvent

BROKEN_OFF = (
    b'event: error\ndata: {"type":"error","error":{"type":"api_error",'
    b'"message":"The upstream response ended before it was complete."}}\n\n'
)
_START, _STOP = b"content_block_start", b"message_stop"
_BLOCK_EVENTS = frozenset({_START, b"content_block_delta", b"content_block_stop"})
_ENDING = frozenset({b"message_delta", _STOP})


class _Block(msgspec.Struct):
    type: str = ""
    name: str = ""


class _Start(msgspec.Struct):
    content_block: _Block


class _Indexed(msgspec.Struct):
    index: int = -1


_start = msgspec.json.Decoder(_Start)
_indexed = msgspec.json.Decoder(_Indexed)


class AnthropicSplice(SpliceRelay):
    def __init__(self) -> None:
        super().__init__(Dialect.ANTHROPIC)
        self._ours: set[int] = set()
        self._opening = b""  # of the running round
        self._shown_opening = b""  # that the client got

    def _read(self, event: SseEvent) -> bool:
        self._facts.read_event(event)
        kind = kind_of(event)
        if kind == b"message_start":
            self._opening = event.data
            self._shown_opening = self._shown_opening or event.data
        if kind != _START or not opens_our_call(event):
            return False
        self._ours.add(index_of(event))
        return True

    def _calls_us(self) -> bool:
        return bool(self._ours)

    def _written(self, event: SseEvent) -> bytes:
        kind = kind_of(event)
        if kind in _BLOCK_EVENTS:
            return self._block(event)
        if not self._continuations:
            return event.raw
        if kind == b"message_start":
            return b""  # the client's message has begun
        if kind != b"message_delta":
            return event.raw
        return with_usage_of(self._opening, event, shown=self._shown_opening)

    def _block(self, event: SseEvent) -> bytes:
        if not (self._base or self._ours):
            return event.raw
        index = index_of(event)
        if index in self._ours:
            return b""
        return renumbered(event, self._base - sum(our < index for our in self._ours))

    def _count(self, event: SseEvent) -> None:
        kind = kind_of(event)
        self.blocks_sent += kind == _START and not (self._ours and index_of(event) in self._ours)
        self._round.begun = self._round.begun or kind in _BLOCK_EVENTS or kind in _ENDING

    def _uncover(self) -> None:
        self._ours.clear()

    def _left_over(self) -> bytes:
        spoken = [event for event in self._round.withheld if kind_of(event) not in _ENDING]
        return b"".join([self._forwarded(event) for event in spoken])

    def next_round(self) -> None:
        super().next_round()
        self._ours = set()

    def _is_last(self, event: SseEvent) -> bool:
        return kind_of(event) == _STOP and event.data.endswith(b"}")

    def _is_whole(self, *, complete: bool) -> bool:
        return self._round.ended

    def _rebuilt(self, events: list[SseEvent]) -> Reply:
        return reply_anthropic.from_events(events)

    def _messages(self, reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        return reply_anthropic.continuation(reply, results)

    def _ending(self, withheld: list[SseEvent]) -> list[SseEvent]:
        return [event for event in withheld if kind_of(event) in _ENDING]

    def _failure(self, tail: bytes) -> bytes:
        """The incomplete event is left out: the client would read the error as a part of it."""
        return BROKEN_OFF


def opens_our_call(event: SseEvent) -> bool:
    """Whether this content_block_start begins a call of an injected tool."""
    try:
        block = _start.decode(event.data).content_block
    except (msgspec.DecodeError, UnicodeError):
        return False
    return block.type == "tool_use" and is_injected(block.name)


def index_of(event: SseEvent) -> int:
    """The index of a block event, -1 where it has none."""
    try:
        return _indexed.decode(event.data).index
    except (msgspec.DecodeError, UnicodeError):
        return -1


def with_usage_of(opening: bytes, event: SseEvent, *, shown: bytes) -> bytes:
    """A message_delta that also tells what only the message_start of its round told of the usage.

    The client never gets that one, and would take the input of the first round for the last one's.
    shown: the message_start that it got; what that says already is not said again.
    """
    try:
        begun, known = _usages(opening, "message"), _usages(shown, "message")
        place = members(event.data, whole(event.data))["usage"].value
        told = members_of(event.data[place.start : place.end])
    except (UnparseableError, KeyError, msgspec.DecodeError):
        return event.raw
    missing = {
        name: value
        for name, value in begun.items()
        if name not in told and value != known.get(name)
    }
    if not missing:
        return event.raw
    return with_data(event, splice(event.data, [Edit(place, object_of({**told, **missing}))]))


def _usages(written: bytes, holder: str) -> dict[str, bytes]:
    return members_of(members_of(members_of(written)[holder])["usage"])


def renumbered(event: SseEvent, base: int) -> bytes:
    """The bytes of a block event, its index moved up by `base`; nothing else changes."""
    if not base:
        return event.raw
    try:
        index = members(event.data, whole(event.data))["index"].value
        moved = int(event.data[index.start : index.end]) + base
    except (UnparseableError, KeyError, ValueError):
        return event.raw
    return with_data(event, splice(event.data, [Edit(index, b"%d" % moved)]))
