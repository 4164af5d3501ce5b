"""The state of one pipeline run: what the request allows, and what was changed so far.

Source: 01-components.md 1.3, 1.7; 03-proxy-and-recovery.md 5.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dataplane.core.effects import FrozenDecision, Payload, Refused, SessionView
from dataplane.core.port.report import RunReport
from dataplane.core.port.signals import Event
from dataplane.core.text.content import Content
from dataplane.core.wire.message import Message


class Conditions(NamedTuple):
    """What this request allows. persists: originals can be kept. recoverable: the model can ask
    for one on this very request. recovered: ids of the calls that did. stopped: the operator lets
    nothing new be removed. replay_only: the session's past does not. verbatim: SHA-256 (hex) of
    texts that the provider takes only as they came. clock: seconds, for durations only.
    """

    view: SessionView
    cache_aware: bool = False
    cached_through: int = -1
    cache_is_cold: bool = False
    persists: bool = True
    recoverable: bool = True
    recovered: frozenset[str] = frozenset()
    window: int = 0
    stopped: bool = False
    replay_only: bool = False
    verbatim: frozenset[str] = frozenset()
    clock: Callable[[], float] = float


class Change(NamedTuple):
    """A text that a component put in place of a message's text.

    ids: markers in the new text whose originals must be durable. payload and decision: what has
    to be committed with it. step: its place in the pipeline. fold: names the text that a lossless
    component rewrote, where nothing was removed.
    """

    step: int
    text: Content
    ids: tuple[str, ...] = ()
    payload: Payload | None = None
    decision: FrozenDecision | None = None
    fresh: bool = True
    irreversible: bool = False
    event: Event | None = None
    fold: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """Under what its saving is credited, so that each text counts once."""
        return (self.fold,) if self.fold else self.ids


@dataclass(slots=True)
class Run:
    """The state of one run: per changed message, every change in order.

    held: message index to the tokens that cold_cache would have left there.
    """

    messages: Sequence[Message]
    conditions: Conditions
    report: RunReport
    changes: dict[int, list[Change]] = field(default_factory=dict)
    tokens: int = 0
    held: dict[int, int] = field(default_factory=dict)

    def text_of(self, index: int) -> Content:
        changed = self.changes.get(index)
        return changed[-1].text if changed else self.messages[index].content

    def payloads(self) -> tuple[Payload, ...]:
        """Originals that the changed texts point to, each once."""
        wanted = {
            change.payload.marker_id: change.payload
            for change in self._standing()
            if change.payload is not None
        }
        return tuple(wanted.values())

    def decisions(self) -> tuple[FrozenDecision, ...]:
        return tuple(c.decision for c in self._standing() if c.decision is not None)

    def emitted(self) -> frozenset[str]:
        """Ids of the markers that the changed texts carry."""
        return frozenset(key for change in self._standing() for key in change.ids)

    def _standing(self) -> Iterable[Change]:
        return (change for changes in self.changes.values() for change in changes)

    def novelties(self) -> frozenset[str]:
        """SHA-256 (hex) of what was changed here and not on an earlier turn; where nothing is
        new, of all that was changed.
        """
        known = self.conditions.cached_through
        changed = {i: self.messages[i].content.sha256 for i in self.changes}
        new = {
            key
            for index, key in changed.items()
            if index > known or any(change.decision for change in self.changes[index])
        }
        return frozenset(new or changed.values())

    def withdraw(self, index: int, *, gate: str | None = None) -> None:
        """Take the last change of a message out again and reverse the saving it was credited."""
        change = self.changes[index].pop()
        if not self.changes[index]:
            del self.changes[index]
        step = self.report.steps[change.step]
        returned = self.text_of(index).tokens - change.text.tokens
        step.tokens_after += returned
        self.tokens += returned
        self.report.tokens_after += returned
        step.withdraw(change.keys, returned, fresh=change.fresh)
        if change.event is not None:
            step.events[change.event.name] -= 1
        if gate is None:
            step.discarded += 1
        else:
            step.gates[gate] += 1

    def settle(
        self, durable: frozenset[str], refused: dict[str, Refused], *, failed: bool = False
    ) -> None:
        """Withdraw every change that names an original which did not become durable, and what was
        changed on top of it. failed: nothing of the commit counts.

        Of an id that is owned the original is durable since it was minted, but a collision says
        that it is another original. A new decision must be durable itself, else the next turn
        would not know it and send the output verbatim again.
        """
        taken = {key for key, why in refused.items() if why is Refused.COLLISION}
        held = (durable | self.conditions.view.owned.keys()) - taken
        for index in list(self.changes):
            for place, change in enumerate(self.changes[index]):
                is_new = self._is_new(change.decision)
                needed_in = durable if is_new else held
                missing = [key for key in change.ids if key not in needed_in]
                if missing or (is_new and failed):
                    why = refused.get(missing[0]) if missing else None
                    self._withdraw_from(index, place, why or Refused.UNAVAILABLE)
                    break

    def _withdraw_from(self, index: int, place: int, why: Refused) -> None:
        for _ in self.changes[index][place + 1 :]:
            self.withdraw(index)
        self.withdraw(index, gate=why.value)

    def _is_new(self, decision: FrozenDecision | None) -> bool:
        """False also for one that the store had lost: it is derived again until it is kept."""
        if decision is None:
            return False
        lost = self.conditions.view.lost.get(decision.component, frozenset())
        return decision.decision_key not in lost
