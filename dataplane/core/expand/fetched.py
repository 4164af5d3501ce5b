"""What the provider kept and a client fetches: a response, its input, a conversation's items.

Rounds that the gateway answered stand in there as the provider saw them, and a model may have
called a tool that it knows from an earlier turn. The client declared none of that.
Source: 00-start-here.md 2 (row 26).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dataplane.core.expand import endings
from dataplane.core.expand.plain import PlainRelay, PlainStream
from dataplane.core.expand.raw import array_of
from dataplane.core.expand.relay import EVENT_STREAM, JSON, Deliver, Outcome, Relay, is_answer
from dataplane.core.expand.reply_responses import head_of, without_ours
from dataplane.core.expand.responses_events import declarations
from dataplane.core.expand.stream_responses import ResponsesSplice
from dataplane.core.expand.terms import Terms
from dataplane.core.port.signals import Event
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.responses import OUTPUTS
from dataplane.core.wire.spans import ARRAY, UnparseableError, elements, members
from dataplane.core.wire.spans import whole as span_of
from dataplane.core.wire.splice import Edit, splice, string_literal

MAX_HELD_BYTES = 32 << 20
_FIRST_ERROR = 400
_ANSWER = "output"
_LISTS = (_ANSWER, "data")
_ALWAYS = Terms(declared=True, answers=False)


def open_fetched(status: int, content_type: str, *, shown_as: str) -> Relay:
    """The relay for what was fetched. shown_as: the id by which the client asked, "" where it is
    the provider's own.
    """
    if is_answer(status, content_type, JSON):
        return FetchedBody(shown_as)
    if is_answer(status, content_type, EVENT_STREAM):
        return FetchedStream(_ALWAYS, shown_as=shown_as)
    return _plain(status, content_type)


def _plain(status: int, content_type: str) -> Relay:
    if is_answer(status, content_type, EVENT_STREAM):
        return PlainStream(Dialect.OPENAI_RESPONSES)
    return PlainRelay(Dialect.OPENAI_RESPONSES, is_error=status >= _FIRST_ERROR)


class FetchedBody(Relay):
    """A body that is held to its end, unless it is too large for that."""

    def __init__(self, shown_as: str) -> None:
        super().__init__(Dialect.OPENAI_RESPONSES)
        self._shown_as = shown_as
        self._held = bytearray()
        self._is_held = True

    def feed(self, chunk: bytes) -> bytes:
        if not self._is_held:
            return chunk
        self._held += chunk
        if len(self._held) <= MAX_HELD_BYTES:
            return b""
        self._is_held = False
        return self._sent(bytes(self._held))

    def end_round(self, *, complete: bool) -> Deliver:
        outcome = Outcome.OK if complete else Outcome.TRUNCATED
        rest = bytes(self._held) if self._is_held else b""
        if not complete:
            return self._deliver(rest, outcome)
        seen = shown(rest, self._shown_as)
        return self._deliver(seen.body, outcome, endings.CALL_FETCHED if seen.had_call else None)


class FetchedStream(ResponsesSplice):
    """A stream that is resumed."""

    _lists_call = False

    def _output(self, listed: list[bytes]) -> list[bytes]:
        kept = super()._output(listed)
        self._lists_call = self._lists_call or len(kept) < len(listed)
        return kept

    @property
    def _hidden(self) -> Event | None:
        return endings.CALL_FETCHED if self._lists_call or self._calls_us() else None


class Shown(NamedTuple):
    """had_call: a call of ours stood in the answer. One in a list of what the model was sent is
    none: what became of that was told when it was answered.
    """

    body: bytes
    had_call: bool = False


def shown(body: bytes, shown_as: str) -> Shown:
    """The body as the client gets it: under the id that it asked by, without calls of ours and
    what answered them, and without the tool.
    """
    had_call = False
    try:
        parts = members(body, span_of(body))
        edits = []
        if shown_as and "id" in parts:
            edits.append(Edit(parts["id"].value, string_literal(shown_as)))
        edits += declarations(body, parts)
        for name in _LISTS:
            if name not in parts or body[parts[name].value.start] != ARRAY:
                continue
            listed = [body[each.start : each.end] for each in elements(body, parts[name].value)]
            kept = list(_without_answers(without_ours(listed), listed))
            if len(kept) < len(listed):
                edits.append(Edit(parts[name].value, array_of(kept)))
                had_call = had_call or name == _ANSWER
    except UnparseableError:
        return Shown(body)
    return Shown(splice(body, edits), had_call)


def _without_answers(kept: Sequence[bytes], listed: Sequence[bytes]) -> Iterable[bytes]:
    heads = map(head_of, listed)
    ours = {head.call_id for head in heads if head.is_ours}
    for item in kept:
        head = head_of(item)
        if not (head.type in OUTPUTS and head.call_id in ours):
            yield item
