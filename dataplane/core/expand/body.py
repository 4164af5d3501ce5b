"""Responses that are one JSON body: held until it is known whether the gateway answers.

Source: 03-proxy-and-recovery.md 2.9, 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataplane.core.expand import endings, reply_anthropic, reply_openai
from dataplane.core.expand.relay import (
    JSON,
    Deliver,
    Outcome,
    Relay,
    ToolResult,
    Verdict,
    is_answer,
)
from dataplane.core.expand.rounds import Reply, answered, handed_over_as
from dataplane.core.expand.told import TOLD, Told
from dataplane.core.expand.window import Window
from dataplane.core.tools.tool import SIGN
from dataplane.core.wire.message import Dialect

MAX_HELD_BYTES = 32 << 20
_NAME_OF_OURS = b'"' + SIGN
_NO_CALLS = Reply(())
_READ: dict[Dialect, Callable[[bytes], Reply]] = {
    Dialect.ANTHROPIC: reply_anthropic.from_body,
    Dialect.OPENAI_CHAT: reply_openai.from_body,
}
_CONTINUE: dict[Dialect, Callable[[Reply, Sequence[ToolResult]], tuple[bytes, ...]]] = {
    Dialect.ANTHROPIC: reply_anthropic.continuation,
    Dialect.OPENAI_CHAT: reply_openai.continuation,
}


class BodyRelay(Relay):
    """Nothing is sent before the end of the body, unless it is too large to be held."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._continuations = 0
        self._held = bytearray()
        self._too_large: Window | None = None
        self._reached = False
        self._told: Told | None = TOLD[dialect]() if dialect in TOLD else None
        self._earlier_body = b""
        self._reply = _NO_CALLS

    def feed(self, chunk: bytes) -> bytes:
        if self._too_large is not None:
            self._reached = self._reached or _NAME_OF_OURS in chunk
            self._too_large.feed(chunk)
            return chunk
        self._held += chunk
        if len(self._held) <= MAX_HELD_BYTES:
            return b""
        self._too_large = Window()
        body = self._take_body()
        self._reached = _NAME_OF_OURS in body
        self._too_large.feed(body)
        return self._sent(body)

    def end_round(self, *, complete: bool) -> Verdict:
        if self._too_large is not None:
            self._too_large.read_into(self._facts)
            outcome = Outcome.OVERSIZE if complete else Outcome.TRUNCATED
            ending = endings.ROUND_TOO_LARGE if self._reached else None
            return self._deliver(b"", outcome, ending)
        body = self._take_body()
        self._facts.read_body(body)
        if complete:
            return self._decided(body)
        if self._continuations:
            return self.round_failed()
        before, name, _ = body.partition(_NAME_OF_OURS)
        ending = endings.ANSWER_BROKE_OFF if name else None
        return self._deliver(before, Outcome.TRUNCATED, ending)

    def continuation(self, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        return _CONTINUE[self.dialect](self._reply, results)

    def next_round(self) -> None:
        self._next_facts()
        self._continuations += 1

    def round_failed(self) -> Deliver:
        ending = endings.CONTINUATION_FAILED
        return self._deliver(self._earlier_body, Outcome.NEXT_FAILED, ending)

    def accepts(self, status: int, content_type: str) -> bool:
        return is_answer(status, content_type, JSON)

    def _decided(self, body: bytes) -> Verdict:
        assert self._told is not None  # noqa: S101  the third dialect decides for itself
        self._reply = _READ[self.dialect](body) if _NAME_OF_OURS in body else _NO_CALLS
        handed = handed_over_as(
            self._reply, stop_reason=self.stop_reason, continuations=self._continuations
        )
        if handed is not None:
            shown = self._told.shown(body, complete=handed.whole)
            has_ours = bool(self._reply.calls) or shown != body
            return self._deliver(shown, handed.outcome, handed.ending if has_ours else None)
        self._earlier_body = self._told.shown(body, complete=True)
        self._told.add(body)
        return answered(self._reply, continuations=self._continuations)

    def _take_body(self) -> bytes:
        body = bytes(self._held)
        self._held.clear()
        return body
