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
from dataplane.core.expand.relay import ToolResult
from dataplane.core.expand.rounds import Reply
from dataplane.core.expand.stream import SpliceRelay, with_data
from dataplane.core.expand.tool import is_injected
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


_start = msgspec.json.Decoder(_Start)


class AnthropicSplice(SpliceRelay):
    def __init__(self) -> None:
        super().__init__(Dialect.ANTHROPIC)

    def _read(self, event: SseEvent) -> bool:
        self._facts.read_event(event)
        return kind_of(event) == _START and opens_our_call(event)

    def _written(self, event: SseEvent) -> bytes:
        if not self._continuations:
            return event.raw
        kind = kind_of(event)
        if kind == b"message_start":
            return b""  # the client's message has begun
        return renumbered(event, self._base) if kind in _BLOCK_EVENTS else event.raw

    def _count(self, event: SseEvent) -> None:
        kind = kind_of(event)
        self.blocks_sent += kind == _START
        self._round.begun = self._round.begun or kind in _BLOCK_EVENTS or kind in _ENDING

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
