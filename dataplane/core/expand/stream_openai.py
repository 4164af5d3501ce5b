"""The splice of OpenAI chat streams.

Calls of ours disappear from the client's stream; what a chunk says beside them goes on.
Source: 03-proxy-and-recovery.md 2.10, 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataplane.core.expand import reply_openai
from dataplane.core.expand.chat_calls import CallPlaces, pieces_of
from dataplane.core.expand.chat_chunks import (
    Change,
    carries_content,
    changed,
    identity_of,
    is_role_only,
)
from dataplane.core.expand.facts import DONE, ChatChunk, chunk_of
from dataplane.core.expand.relay import ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply
from dataplane.core.expand.stream import SpliceRelay
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.sse import SseEvent


class OpenAiSplice(SpliceRelay):
    def __init__(self) -> None:
        super().__init__(Dialect.OPENAI_CHAT)
        self._identity: dict[str, bytes] = {}
        self._several_choices = False
        self._latest: tuple[SseEvent, ChatChunk | None] | None = None
        self._calls: dict[int, CallPlaces] = {}  # by the index of the choice
        self._placed: dict[SseEvent, list[list[int]]] = {}
        self._is_uncovered = False

    # ---- what a chunk says -------------------------------------------------------------------

    def _read(self, event: SseEvent) -> bool:
        chunk = self._chunk(event)
        if chunk is None:
            return False
        self._facts.hear(event)
        self._facts.read_chunk(chunk)
        choices = chunk.choices or []
        if choices and not self._identity:
            self._identity = identity_of(event.data)
        if len(choices) > 1 or any(choice.index for choice in choices):
            self._several_choices = True
        return self._place(event, chunk)

    def _place(self, event: SseEvent, chunk: ChatChunk) -> bool:
        """Note which calls the chunk has pieces of; True when one of them may be ours."""
        choices = chunk.choices or []
        if not any("tool_calls" in (choice.delta or {}) for choice in choices):
            return False
        placed, touched = [], []
        for choice in choices:
            calls = self._calls.setdefault(choice.index, CallPlaces())
            pieces = pieces_of((choice.delta or {}).get("tool_calls", b"null"))
            placed.append([calls.place(piece) for piece in pieces])
            touched.append(calls)
        self._placed[event] = placed
        return any(calls.ours or calls.unnamed for calls in touched)

    def _calls_us(self) -> bool:
        return any(calls.ours for calls in self._calls.values())

    def _count(self, event: SseEvent) -> None:
        chunk = self._chunk(event)
        if chunk is None or not chunk.choices:
            return
        carries = any(map(carries_content, chunk.choices))
        finishes = any(choice.finish_reason for choice in chunk.choices)
        self.blocks_sent += carries
        self._round.begun = self._round.begun or carries or finishes

    def _is_last(self, event: SseEvent) -> bool:
        return event.data == DONE

    def _is_whole(self, *, complete: bool) -> bool:
        """Some providers end a stream without [DONE], and some without a finish reason."""
        if self._round.ended or not complete:
            return self._round.ended
        asked = self._round.cut is not None and bool(self._rebuilt(self._round.events).calls)
        return asked or self.stop_reason is not None

    # ---- what the client gets ----------------------------------------------------------------

    def _written(self, event: SseEvent) -> bytes:
        return self._given(event, drops_end=False)

    def _given(self, event: SseEvent, *, drops_end: bool) -> bytes:
        chunk = self._chunk(event)
        if chunk is None:
            return event.raw
        if self._continuations and is_role_only(chunk):
            return b""
        covers = not self._is_uncovered and self._calls_us()
        indices = self._indices(event, chunk) if covers else []
        if not (self._continuations or indices or drops_end):
            return event.raw
        change = Change(
            identity=self._identity if self._continuations else {},
            drops_role=bool(self._continuations),
            drops_end=drops_end,
            indices=indices,
        )
        written = changed(event, change)
        return b"" if (indices or drops_end) and _says_nothing(written) else written

    def _indices(self, event: SseEvent, chunk: ChatChunk) -> list[list[int | None]]:
        """The index that each piece of a call has for the client, None for a piece of ours."""
        placed = self._placed.get(event)
        if placed is None:
            return []
        found: list[list[int | None]] = []
        for choice, places in zip(chunk.choices or [], placed, strict=True):
            ours = self._calls[choice.index].ours
            pieces = pieces_of((choice.delta or {}).get("tool_calls", b"null"))
            found.append(
                [
                    None if place in ours else _moved(piece.index, sum(o < place for o in ours))
                    for piece, place in zip(pieces, places, strict=True)
                ]
            )
        return found

    def _uncover(self) -> None:
        self._is_uncovered = True

    def _left_over(self) -> bytes:
        spoken = [event for event in self._round.withheld if event.data != DONE]
        return b"".join([self._given(event, drops_end=True) for event in spoken])

    def next_round(self) -> None:
        super().next_round()
        self._calls, self._placed, self._is_uncovered = {}, {}, False

    # ---- rounds ------------------------------------------------------------------------------

    def _rebuilt(self, events: list[SseEvent]) -> Reply:
        return UNREADABLE_REPLY if self._several_choices else reply_openai.from_events(events)

    def _messages(self, reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        return reply_openai.continuation(reply, results)

    def _ending(self, withheld: list[SseEvent]) -> list[SseEvent]:
        """Nothing: a stream that broke off is known by its missing [DONE]."""
        return []

    def _failure(self, tail: bytes) -> bytes:
        return tail

    def _chunk(self, event: SseEvent) -> ChatChunk | None:
        if self._latest is None or self._latest[0] is not event:
            self._latest = (event, chunk_of(event))
        return self._latest[1]


def _moved(index: int | None, by: int) -> int:
    """Without an index in the piece none is written, whatever this says."""
    return max(0, (index or 0) - by)


def _says_nothing(written: bytes) -> bool:
    """Whether a chunk, once changed, would tell the client nothing."""
    chunk = chunk_of(SseEvent(written))
    if chunk is None or bytes(chunk.usage) not in (b"", b"null") or chunk.error is not None:
        return False
    return not any(
        carries_content(choice) or choice.finish_reason or "role" in (choice.delta or {})
        for choice in chunk.choices or []
    )
