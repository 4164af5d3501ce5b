"""The splice of OpenAI Responses event streams.

A call of ours disappears from the client's stream with all its events; what the same round said
beside it goes on. So the events that follow are numbered anew, the items take the next free places
of the output, and the last event lists the items of all rounds under the id that the client knows.
Source: 03-proxy-and-recovery.md 4.5; 00-start-here.md 2 (rows 26, 37).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from dataplane.core.expand import endings, reply_responses
from dataplane.core.expand.facts import RESPONSE_ENDS, kind_of
from dataplane.core.expand.relay import Deliver, Outcome, ToolResult
from dataplane.core.expand.responses_events import (
    ADDED,
    BEGINNINGS,
    FAILURES,
    ITEMS,
    Placed,
    ends,
    identity_of,
    output_of,
    placed,
    renamed,
    response_edits,
    rewritten,
)
from dataplane.core.expand.rounds import Reply
from dataplane.core.expand.stream import SpliceRelay
from dataplane.core.expand.terms import PLAIN, Terms
from dataplane.core.tools.tool import SIGN
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import Span
from dataplane.core.wire.splice import Edit
from dataplane.core.wire.sse import SseEvent


@dataclass(slots=True)
class _Places:
    """Where the items of one round are for the client.

    taken: the client's place of an item, by the provider's. ours: the provider's places of calls
    that the client does not get. names: the ids that the client knows items by, where another
    round used the provider's.
    """

    taken: dict[int, int] = field(default_factory=dict)
    ours: set[int] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Answered:
    """A round whose calls are being answered. given: how many items the client had before it."""

    places: _Places
    withheld: list[SseEvent]
    given: int
    tail: bytes


class ResponsesSplice(SpliceRelay):
    def __init__(self, terms: Terms = PLAIN, *, shown_as: str = "") -> None:
        """shown_as: the id by which the client knows the response already."""
        super().__init__(Dialect.OPENAI_RESPONSES)
        self._terms = terms
        self.shown_as = self._known_as = shown_as
        # A stream that can be resumed keeps the provider's numbers, and nothing is held back.
        self._round.intercepted = terms.answers
        self._places = _Places()
        self._names: set[str] = set()
        self._given: list[bytes] = []  # the items of the rounds before, as the client has them
        self._items = 0
        self._number = -1
        self._renumbers = False
        self._failed: SseEvent | None = None
        self._answered: _Answered | None = None

    # ---- what an event says ------------------------------------------------------------------

    def _read(self, event: SseEvent) -> bool:
        self._facts.read_event(event)
        kind = kind_of(event)
        if kind in FAILURES:
            self._failed = event
        if kind not in ITEMS or not (self._round.intercepted or self._only_hides):
            return False
        seen = placed(event)
        if seen.head is None or not seen.head.is_ours or seen.output_index is None:
            return False
        self._places.ours.add(seen.output_index)
        self._renumbers = not self._only_hides
        return kind == ADDED and not self._only_hides

    @property
    def _only_hides(self) -> bool:
        return not self._terms.answers

    def _calls_us(self) -> bool:
        return bool(self._places.ours)

    def _uncover(self) -> None:
        self._places.ours.clear()

    def _goes_on(self, event: SseEvent) -> bool:
        return placed(event).output_index in self._places.taken

    def _count(self, event: SseEvent) -> None:
        kind, seen = kind_of(event), placed(event)
        self.blocks_sent += kind == ADDED
        is_content = seen.output_index is not None or kind in RESPONSE_ENDS
        self._round.begun = self._round.begun or is_content

    def _is_last(self, event: SseEvent) -> bool:
        return ends(event)

    def _is_whole(self, *, complete: bool) -> bool:
        return self._round.ended

    # ---- what the client gets ----------------------------------------------------------------

    def _written(self, event: SseEvent) -> bytes:
        kind, seen = kind_of(event), placed(event)
        if self._continuations and kind in BEGINNINGS:
            return b""  # the client's response has begun
        if seen.output_index in self._places.ours:
            return b""
        before = self._rest_of_answered() if self._round.begun else b""
        return before + self._rewritten(event, kind, seen)

    def _rewritten(self, event: SseEvent, kind: bytes, seen: Placed) -> bytes:
        edits = None
        if kind in BEGINNINGS:
            self.shown_as = self.shown_as or identity_of(seen.response)
            edits = partial(self._response_edits, is_end=False)
        elif kind in RESPONSE_ENDS:
            self.ended_as = identity_of(seen.response)
            edits = partial(self._response_edits, is_end=True)
        return rewritten(
            event,
            number=self._next_number(seen.sequence_number),
            place=self._place(seen.output_index),
            item_id=self._name(kind, seen),
            response=edits,
        )

    def _next_number(self, number: int | None) -> int | None:
        """The number of the next event, None where it has that already, or has none."""
        if number is None:
            return None
        self._number = self._number + 1 if self._renumbers else number
        return None if self._number == number else self._number

    def _place(self, place: int | None) -> int | None:
        if place is None or self._only_hides:
            return None
        if place not in self._places.taken:
            self._places.taken[place] = self._items
            self._items += 1
        taken = self._places.taken[place]
        return None if taken == place else taken

    def _name(self, kind: bytes, seen: Placed) -> str | None:
        """The id of the item for the client, None where it is the provider's own."""
        known = seen.item_id or (seen.head.id if seen.head else None)
        if not known:
            return None
        if kind == ADDED and known in self._names and self._continuations:
            self._places.names[known] = f"{known}_{self._continuations}"
        self._names.add(known)
        return self._places.names.get(known)

    def _response_edits(self, written: bytes, response: Span, *, is_end: bool) -> list[Edit]:
        return response_edits(
            written,
            response,
            identity=self.shown_as if self._continuations else self._known_as,
            output=self._output if is_end else None,
            terms=self._terms,
        )

    def _output(self, listed: list[bytes]) -> list[bytes]:
        """The items of all rounds, of the last one as it lists them."""
        if self._places.ours or self._only_hides:
            listed = reply_responses.without_ours(listed)
        if self._continuations and not listed:
            listed = reply_responses.without_ours(output_of(self._round.events))
        return self._given + [self._under_its_name(item) for item in listed]

    def _under_its_name(self, item: bytes) -> bytes:
        name = self._places.names and self._places.names.get(reply_responses.head_of(item).id or "")
        return renamed(item, name) if name else item

    # ---- rounds ------------------------------------------------------------------------------

    def _keep_fallback(self, tail: bytes) -> None:
        self._answered = _Answered(self._places, self._round.withheld, len(self._given), tail)
        shown = reply_responses.without_ours(output_of(self._round.events))
        self._given += map(self._under_its_name, shown)

    def next_round(self) -> None:
        super().next_round()
        self._places = _Places()

    def _rest_of_answered(self) -> bytes:
        """What the round before said behind the calls that were answered."""
        answered, self._answered = self._answered, None
        if answered is None:
            return b""
        places, self._places = self._places, answered.places
        rest = [event for event in answered.withheld if placed(event).output_index is not None]
        given = b"".join([self._written(event) for event in rest])
        self._places = places
        return given

    def round_failed(self) -> Deliver:
        """The round before goes to the client whole."""
        answered, self._answered = self._answered, None
        if answered is None:
            return self._deliver(b"", Outcome.NEXT_FAILED, endings.CONTINUATION_FAILED)
        self._places = answered.places
        self._places.ours.clear()
        del self._given[answered.given :]
        self.expand_after_stream = True
        self.handed_over = self._reply.calls if self._reply is not None else ()
        given = b"".join([self._written(event) for event in answered.withheld])
        ending = endings.CONTINUATION_FAILED
        return self._deliver(given + answered.tail, Outcome.NEXT_FAILED, ending)

    def _broken_off(self, tail: bytes) -> Deliver:
        if self._continuations and self._round.begun:
            told = self._written(self._failed) if self._failed is not None else b""
            return self._deliver(told, Outcome.NEXT_CUT, endings.CONTINUATION_CUT)
        return super()._broken_off(tail)

    def _rebuilt(self, events: list[SseEvent]) -> Reply:
        return reply_responses.from_items(output_of(events))

    def _messages(self, reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        return reply_responses.continuation(self._echo(reply), results)

    def _echo(self, reply: Reply) -> Reply:
        if reply.needs_store and not self._terms.stores:
            return reply_responses.without_what_nobody_kept(reply)
        return reply

    def _ending(self, withheld: list[SseEvent]) -> list[SseEvent]:
        """Nothing: a stream that broke off is known by its missing last event."""
        return []

    def _failure(self, tail: bytes) -> bytes:
        """An incomplete event ends nothing; one that may be of a call of ours is left out."""
        return b"" if self._round.cut is not None or SIGN in tail else tail
