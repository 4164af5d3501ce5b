"""What the client is told of several JSON rounds: what their stream would have told it.

The content of all rounds in their order, under the names of the first; everything else, the usage
among it, is of the last one. Source: 03-proxy-and-recovery.md 4.4, 4.7.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping

import msgspec

from dataplane.core.expand import reply_anthropic, reply_openai
from dataplane.core.expand.raw import array_of, merged, object_of
from dataplane.core.tools.tool import SIGN
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import Member, UnparseableError, elements, members, whole
from dataplane.core.wire.splice import Edit, splice

_UNREADABLE = (UnparseableError, msgspec.DecodeError, UnicodeError, KeyError, RecursionError)


class Told(abc.ABC):
    """The rounds of one client response that were answered so far."""

    names: tuple[str, ...]  # of the members that the first round gives the whole response

    def __init__(self) -> None:
        self._names: dict[str, bytes] = {}
        self._rounds = 0

    def add(self, body: bytes) -> None:
        """A round whose calls are answered: the client gets what it said beside them."""
        if not self._rounds:
            top = members(body, whole(body))
            spans = {name: top[name].value for name in self.names if name in top}
            self._names = {name: body[at.start : at.end] for name, at in spans.items()}
        self._rounds += 1
        self._keep(body)

    def shown(self, body: bytes, *, complete: bool) -> bytes:
        """The body as the client gets it, with what the rounds before it said. complete: with the
        calls of ours in it. What cannot be read stays as it came.
        """
        if not self._rounds and (complete or SIGN not in body):
            return body
        try:
            top = members(body, whole(body))
            edits = [
                Edit(top[name].value, value) for name, value in self._names.items() if name in top
            ]
            edits += self._edits(body, top, complete=complete)
        except _UNREADABLE:
            return body
        return splice(body, edits)

    @abc.abstractmethod
    def _keep(self, body: bytes) -> None:
        """Remember the content of an answered round, calls of ours left out."""

    @abc.abstractmethod
    def _edits(self, body: bytes, top: dict[str, Member], *, complete: bool) -> Iterator[Edit]:
        """What puts the content of all rounds in the place of the last one's."""


class ToldMessage(Told):
    """An Anthropic message."""

    names = ("id", "model")

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[bytes] = []

    def _keep(self, body: bytes) -> None:
        self._blocks += _spoken(reply_anthropic.blocks_of(body))

    def _edits(self, body: bytes, top: dict[str, Member], *, complete: bool) -> Iterator[Edit]:
        blocks = reply_anthropic.blocks_of(body)
        kept = blocks if complete else _spoken(blocks)
        if self._blocks or len(kept) < len(blocks):
            yield Edit(top["content"].value, array_of([*self._blocks, *kept]))


def _spoken(blocks: list[bytes]) -> list[bytes]:
    return [block for block in blocks if not reply_anthropic.is_ours(block)]


class ToldCompletion(Told):
    """A chat completion. Only one of a single choice is ever answered."""

    names = ("id", "created", "model", "system_fingerprint")

    def __init__(self) -> None:
        super().__init__()
        self._messages: list[Mapping[str, bytes]] = []

    def _keep(self, body: bytes) -> None:
        for message in reply_openai.messages_of(body):
            said = _without_calls(message)
            self._messages.append({n: v for n, v in said.items() if n != "role"})

    def _edits(self, body: bytes, top: dict[str, Member], *, complete: bool) -> Iterator[Edit]:
        choices = elements(body, top["choices"].value)
        for choice, message in zip(choices, reply_openai.messages_of(body), strict=True):
            kept = message if complete else _without_calls(message)
            if self._messages:
                role = {"role": kept["role"]} if "role" in kept else {}
                rest = {name: value for name, value in kept.items() if name != "role"}
                kept = {**role, **merged([*self._messages, rest])}
            if kept != message:
                yield Edit(members(body, choice)["message"].value, object_of(kept))


def _without_calls(message: Mapping[str, bytes]) -> dict[str, bytes]:
    """A message without calls of ours; an empty list of calls says nothing."""
    calls = reply_openai.calls_in(message)
    kept = [call for call in calls if not reply_openai.is_ours(call)]
    rest = {name: value for name, value in message.items() if name != "tool_calls"}
    if len(kept) == len(calls):
        return dict(message)
    return {**rest, "tool_calls": array_of(kept)} if kept else rest


TOLD: dict[Dialect, type[Told]] = {
    Dialect.ANTHROPIC: ToldMessage,
    Dialect.OPENAI_CHAT: ToldCompletion,
}
