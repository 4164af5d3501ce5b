"""Relays that change nothing: the client gets every chunk as it came.

Source: 03-proxy-and-recovery.md 2.9, 2.10.
"""

from __future__ import annotations

from dataplane.core.expand.facts import DONE, RESPONSE_ENDS, kind_of
from dataplane.core.expand.relay import Deliver, Outcome, Relay
from dataplane.core.expand.stream_anthropic import BROKEN_OFF
from dataplane.core.expand.window import Window
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.sse import SseEvent, SseParser


class PlainRelay(Relay):
    """For bodies: error responses, JSON that cannot hold a call of ours, anything else.

    is_error: the status says so; such a response is not billed.
    """

    def __init__(self, dialect: Dialect, *, is_error: bool = False) -> None:
        super().__init__(dialect)
        self._window = Window()
        self._is_error = is_error

    def feed(self, chunk: bytes) -> bytes:
        self._window.feed(chunk)
        return self._sent(chunk)

    def end_round(self, *, complete: bool) -> Deliver:
        if self._is_error:
            self._facts.read_error(self._window.head)
        else:
            self._window.read_into(self._facts)
        if not complete:
            return self._deliver(b"", Outcome.TRUNCATED)
        return self._deliver(b"", Outcome.ERROR if self.error_type else Outcome.OK)


class PlainStream(Relay):
    """For event streams in which no call of ours can occur."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._parser = SseParser()
        self._ended = False

    def feed(self, chunk: bytes) -> bytes:
        for event in self._parser.feed(chunk):
            self._read(event)
        return self._sent(chunk)

    def end_round(self, *, complete: bool) -> Deliver:
        tail = self._parser.tail()
        self._read(SseEvent(tail))
        if self.error_type is not None:
            return self._deliver(b"", Outcome.ERROR)
        if self._ended:
            return self._deliver(b"", Outcome.OK)
        return self._broken_off(tail, complete=complete)

    def _read(self, event: SseEvent) -> None:
        self._facts.read_event(event)
        if self.dialect is Dialect.ANTHROPIC:
            self._ended = self._ended or kind_of(event) == b"message_stop"
        elif self.dialect is Dialect.OPENAI_RESPONSES:
            self._ended = self._ended or kind_of(event) in RESPONSE_ENDS
        else:
            self._ended = self._ended or event.data == DONE

    def _broken_off(self, tail: bytes, *, complete: bool) -> Deliver:
        if self.dialect is Dialect.ANTHROPIC:
            # The client has the incomplete event already: end it, so that the error is its own.
            return self._deliver(b"\n\n" * bool(tail) + BROKEN_OFF, Outcome.TRUNCATED)
        told = self.dialect is Dialect.OPENAI_CHAT and self.stop_reason is not None
        whole = complete and told
        return self._deliver(b"", Outcome.OK if whole else Outcome.TRUNCATED)
