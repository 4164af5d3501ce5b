"""Splicing several upstream streams into the one that the client reads.

Events are forwarded as they complete. From the first that calls a tool of ours, the rest of the
round is withheld until it is known whether the gateway can answer; the next round then continues
the same client stream. Source: 03-proxy-and-recovery.md 4.5; its cases T1 to T5.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from dataplane.core.expand import endings
from dataplane.core.expand.relay import (
    EVENT_STREAM,
    Deliver,
    Outcome,
    Relay,
    ToolResult,
    Verdict,
    is_answer,
)
from dataplane.core.expand.rounds import Reply, answered, handed_over_as
from dataplane.core.port.signals import Event
from dataplane.core.tools.tool import SIGN
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.sse import SseEvent, SseParser

MAX_RETAINED_BYTES = 16 << 20


def with_data(event: SseEvent, written: bytes) -> bytes:
    """The bytes of an event with other data; everything around it stays as it came."""
    if event.data in event.raw:
        return event.raw.replace(event.data, written, 1)
    lines = b"".join(b"data: " + line + b"\n" for line in written.splitlines())
    name = b"event: " + event.name + b"\n" if event.name else b""
    return name + lines + b"\n"


class _Round:
    """What is kept of the running round.

    cut: what the client has not got since a tool of ours was called, None before that.
    begun: the client has some of its content. ended: the event after which nothing is missing was
    there.
    """

    def __init__(self) -> None:
        self.parser = SseParser()
        self.events: list[SseEvent] = []
        self.retained_bytes = 0
        self.cut: list[SseEvent] | None = None
        self.intercepted = True
        self.begun = False
        self.ended = False

    def retain(self, event: SseEvent) -> None:
        self.events.append(event)
        self.retained_bytes += len(event.raw)

    @property
    def withheld(self) -> list[SseEvent]:
        return self.cut or []


class SpliceRelay(Relay):
    """The part of the splice that is the same in every dialect."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._continuations = 0
        self._base = 0
        self._round = _Round()
        self._reply: Reply | None = None
        self._left = b""  # of answered rounds, what the client gets once it hears of the next one
        self._fallback = b""
        self._fallback_ending = b""
        self._whole = False
        self._oversize = False
        self._reached = False

    def feed(self, chunk: bytes) -> bytes:
        events = self._round.parser.feed(chunk)
        return self._sent(b"".join([self._take(event) for event in events]))

    def end_round(self, *, complete: bool) -> Verdict:
        tail = self._end_of_tail()
        if self.error_type is not None or not self._is_whole(complete=complete):
            return self._broken_off(tail)
        if self._round.cut is None:
            outcome = Outcome.OVERSIZE if self._oversize else Outcome.OK
            return self._deliver(tail, outcome, self._passed_through or self._hidden)
        return self._decided(tail)

    def continuation(self, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        if self._reply is None:
            raise ValueError("no round was answered")
        return self._messages(self._reply, results)

    def next_round(self) -> None:
        self._next_facts()
        self._continuations += 1
        self._base = self.blocks_sent
        self._round = _Round()

    def round_failed(self) -> Deliver:
        self.expand_after_stream = True
        return self._deliver(self._fallback, Outcome.NEXT_FAILED, endings.CONTINUATION_FAILED)

    def accepts(self, status: int, content_type: str) -> bool:
        return is_answer(status, content_type, EVENT_STREAM)

    @abc.abstractmethod
    def _read(self, event: SseEvent) -> bool:
        """Take the facts of an event; True when it calls a tool of ours, or may."""

    @abc.abstractmethod
    def _calls_us(self) -> bool:
        """Whether a tool of ours was called in this round."""

    @abc.abstractmethod
    def _uncover(self) -> None:
        """From now on the client gets the calls of ours like everything else."""

    def _left_over(self) -> bytes:
        """What the round said behind the first call of ours, without those and without its end."""
        return b""

    @abc.abstractmethod
    def _written(self, event: SseEvent) -> bytes:
        """The event as the client gets it in this round; empty for one that it does not get."""

    def _goes_on(self, event: SseEvent) -> bool:
        """Whether an event behind the call belongs to content that the client has begun to get."""
        return False

    @abc.abstractmethod
    def _count(self, event: SseEvent) -> None:
        """Note what the client has, and whether the round has begun, once it got this event."""

    @abc.abstractmethod
    def _is_last(self, event: SseEvent) -> bool:
        """True for the event after which nothing is missing."""

    @abc.abstractmethod
    def _is_whole(self, *, complete: bool) -> bool:
        """Whether the round came to its own end. complete: the body was not cut off."""

    @abc.abstractmethod
    def _rebuilt(self, events: list[SseEvent]) -> Reply:
        """The model's turn out of the events of a round."""

    @abc.abstractmethod
    def _messages(self, reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        """The messages that continue the conversation."""

    @abc.abstractmethod
    def _ending(self, withheld: list[SseEvent]) -> list[SseEvent]:
        """The withheld events that end the client's stream after a continuation broke off."""

    @abc.abstractmethod
    def _failure(self, tail: bytes) -> bytes:
        """What tells the client that a stream broke off. tail: of an incomplete event."""

    def _take(self, event: SseEvent) -> bytes:
        current = self._round
        calls_us = not event.fragment and self._read(event)
        current.ended = current.ended or self._is_last(event)
        if self._continuations and self.error_type is not None:
            return b""  # the client's stream is going on: how the round ends tells what it gets
        if not current.intercepted:
            if self._oversize:
                self._reached = self._reached or calls_us
                self._uncover()
            return self._forwarded(event)
        current.retain(event)
        if event.fragment or current.retained_bytes > MAX_RETAINED_BYTES:
            return self._stop_intercepting(event)
        if calls_us and current.cut is None:
            current.cut = []
            self.buffered = self.buffered or self.blocks_sent == 0
        if current.cut is None or self._goes_on(event):
            return self._forwarded(event)
        current.cut.append(event)
        return b""

    def _forwarded(self, event: SseEvent) -> bytes:
        if event.fragment:
            return event.raw
        self._count(event)
        written = self._written(event)
        if not (self._left and (self._round.begun or self._is_last(event))):
            return written
        left, self._left = self._left, b""
        return left + written

    def _stop_intercepting(self, event: SseEvent) -> bytes:
        """T5: give the client what was withheld, and the event itself; the rest passes through."""
        self._oversize = self._whole = True
        self._reached = self._round.cut is not None
        given = self._give_withheld() + self._forwarded(event)
        self._pass_through()
        return given

    def _pass_through(self) -> None:
        self._round.intercepted = False
        self._round.cut = None
        self._round.events.clear()

    def _give_withheld(self) -> bytes:
        """Without the calls of ours, unless the client gets the turn whole."""
        withheld = self._round.withheld
        if self._whole:
            self._uncover()
            self.expand_after_stream = self.expand_after_stream or bool(withheld)
        return b"".join([self._forwarded(event) for event in withheld])

    @property
    def _hidden(self) -> Event | None:
        """Of a call that was left out of a stream whose calls nobody here answers."""
        return endings.CALL_UNANSWERABLE if self._calls_us() else None

    @property
    def _passed_through(self) -> Event | None:
        return endings.ROUND_TOO_LARGE if self._reached else None

    def _end_of_tail(self) -> bytes:
        """The bytes after the last complete event; an event that ends the stream is taken as
        one even without the blank line after it.
        """
        tail = self._round.parser.tail()
        event = SseEvent(tail)
        return self._take(event) if tail and self._is_last(event) else tail

    def _broken_off(self, tail: bytes) -> Deliver:
        if self._continuations and not self._round.begun:
            return self.round_failed()
        if self._continuations:
            ending = endings.CONTINUATION_CUT
            return self._deliver(self._fallback_ending, Outcome.NEXT_CUT, ending)
        broken = endings.ANSWER_BROKE_OFF if self._calls_us() else None
        ending_of_calls = self._passed_through or broken
        if self._round.cut is not None or (self._round.intercepted and SIGN in tail):
            tail = b""  # it may be of a call of ours
        withheld = self._give_withheld()
        if self.error_type is not None:
            return self._deliver(withheld + tail, Outcome.ERROR, ending_of_calls)
        rest = withheld + self._failure(tail)
        return self._deliver(rest, Outcome.TRUNCATED, ending_of_calls)

    def _decided(self, tail: bytes) -> Verdict:
        reply = self._rebuilt(self._round.events)
        handed = handed_over_as(
            reply, stop_reason=self.stop_reason, continuations=self._continuations
        )
        if handed is not None:
            self._whole = handed.whole
            self.handed_over = reply.calls if handed.whole else ()
            ending = handed.ending if self._calls_us() else None
            return self._deliver(self._give_withheld() + tail, handed.outcome, ending)
        self._reply = reply
        self._keep_fallback(tail)
        return answered(reply, continuations=self._continuations)

    def _keep_fallback(self, tail: bytes) -> None:
        """What the client gets if the continuation fails, and what if it does not."""
        before, self._left = self._left, b""
        withheld = self._round.withheld
        self._fallback_ending = b"".join(map(self._written, self._ending(withheld)))
        left = self._left_over()
        self._uncover()
        self._fallback = before + b"".join(map(self._written, withheld)) + tail
        self._left = before + left
