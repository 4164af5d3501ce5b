"""Giving originals back: to a call of the running round, and to calls the client had to answer.

Source: 03-proxy-and-recovery.md 4.3, 4.4, 4.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dataplane.core.effects import Core, Found, Reach, Recall, Recalled, Scope
from dataplane.core.expand import repair
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.text import marker
from dataplane.core.text.content import Content
from dataplane.core.tools import tool
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.splice import Edit, splice

CONTINUATION_MAX_BYTES = 32 << 20


class Repaired(NamedTuple):
    """A call whose answer by the client was put right; the same on every later turn.

    found: how its id was resolved, or the name of the verdict tool. tokens: of the original.
    """

    call_id: str
    found: str
    tokens: int


class Missed(NamedTuple):
    """A recovery call that got no original back, and how the search for it ended."""

    marker_id: str
    found: str


@dataclass(slots=True)
class Recoveries:
    """What the recovery calls of one request came to.

    wasted_tokens: of the resolved originals. strays: calls of the verdict tool by an agent.
    oversize: originals left out of a continuation. missed: the calls behind `unresolved`; an id
    that no marker of ours can have is "", because it may be any text. given: ids of the
    originals that were given back.
    """

    bounces: int = 0
    wasted_tokens: int = 0
    unresolved: Counter[str] = field(default_factory=Counter)
    strays: int = 0
    oversize: int = 0
    repaired: list[Repaired] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    given: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Recovery:
    """The recovery calls of one request. at: its instant, seconds. emitted: the ids of the
    markers that this very request carries. shared, reach: as in Recall.
    """

    scope: Scope
    at: float
    emitted: frozenset[str] = frozenset()
    shared: bool = False
    reach: Reach = "auto"
    counts: Recoveries = field(default_factory=Recoveries)
    _handed: list[tuple[str, int]] = field(default_factory=list)

    def answer(self, calls: Sequence[Call], *, room_bytes: int) -> Core[list[ToolResult]]:
        """One result per call, in call order: the original, or an explicit placeholder.

        room_bytes: what all originals together may take. What was found counts as given back only
        once `taken` says that the provider took it.
        """
        found: list[str | None] = []
        for call in calls:
            recalled = yield from self._recall(call, keep=False)
            found.append(_text(recalled))
            self._count(call, recalled)
        self._keep_within(found, room_bytes)
        self._handed = [
            (call.marker_id or "", Content(text).tokens)
            for call, text in zip(calls, found, strict=True)
            if text is not None
        ]
        return [
            ToolResult(call.call_id, tool.answer_text(call.name, text, call.marker_id))
            for call, text in zip(calls, found, strict=True)
        ]

    def taken(self) -> Core[None]:
        """The model has what the last `answer` handed to it: book it, and keep it verbatim."""
        handed, self._handed = self._handed, []
        for marker_id, tokens in handed:  # before the store is asked: the client may have left
            self.counts.given.append(marker_id)
            self.counts.bounces += 1
            self.counts.wasted_tokens += tokens
        for marker_id, _ in handed:
            yield self._search(marker_id, keep=True)

    def repaired(
        self, conversation: Conversation, elsewhere: Mapping[str, Call]
    ) -> Core[Conversation]:
        """The conversation with the client's answers to calls of ours put right.

        elsewhere: calls, by their ids, that are not in the body itself.
        """
        strays = repair.strays(conversation, elsewhere)
        if not strays:
            return conversation
        said = repair.Said(conversation.messages)
        edits: list[Edit] = []
        for stray in strays:
            text = yield from self._repair_text(said, stray.call)
            if text is not None:
                edits += repair.edits(stray, text)
        if not edits:
            return conversation
        return decode(conversation.dialect, splice(conversation.body, edits))

    def _repair_text(self, said: repair.Said, call: Call) -> Core[str | None]:
        """What the answer to a call should say; None where it says it already."""
        recalled = yield from self._recall(call)
        text = _text(recalled)
        name = recalled.found.value if call.name == tool.EXPAND else call.name
        tokens = 0 if text is None else Content(text).tokens
        self.counts.repaired.append(Repaired(call.call_id, name, tokens))
        if text is not None and said.answer(call.call_id) == text:
            return None
        if text is not None and said.is_before(call.call_id, text):
            return tool.pointer(call.marker_id or "")
        return tool.answer_text(call.name, text, call.marker_id)

    def _recall(self, call: Call, *, keep: bool = True) -> Core[Recalled]:
        """The original that a call asks for; nothing for the verdict tool."""
        wanted = call.marker_id or ""
        if call.name != tool.EXPAND or not marker.is_minted_shape(wanted):
            return Recalled(Found.MALFORMED)
        recalled: Recalled = yield self._search(wanted, keep=keep)
        return recalled

    def _search(self, marker_id: str, *, keep: bool) -> Recall:
        return Recall(
            self.scope,
            marker_id,
            self.at,
            keep=keep,
            emitted=marker_id in self.emitted,
            shared=self.shared,
            reach=self.reach,
        )

    def _count(self, call: Call, recalled: Recalled) -> None:
        if call.name != tool.EXPAND:
            self.counts.strays += 1
        elif recalled.original is None:
            self.counts.unresolved[recalled.found.value] += 1
            shown = "" if recalled.found is Found.MALFORMED else call.marker_id or ""
            self.counts.missed.append(Missed(shown, recalled.found.value))

    def _keep_within(self, found: list[str | None], room_bytes: int) -> None:
        """Leave the largest originals out of a continuation that would become too large."""
        sizes = {n: len(text.encode()) for n, text in enumerate(found) if text is not None}
        while sizes and sum(sizes.values()) > room_bytes:
            largest = max(sizes, key=sizes.__getitem__)
            del sizes[largest]
            found[largest] = None
            self.counts.oversize += 1


def _text(recalled: Recalled) -> str | None:
    return None if recalled.original is None else recalled.original.decode()
