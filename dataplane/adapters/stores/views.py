"""What this process has already read of each session, so that a turn reads only what is new.

The database file is the truth, also when several processes share it; this only saves reads. A
list is merged into the very object whose mark was sent, so that one which left the cache in the
meantime still completes its own view.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, TypeVar

from dataplane.adapters.stores import retention
from dataplane.adapters.stores.answers import Delta, Landed, Mark, Seen, TurnRead
from dataplane.adapters.stores.originals import StoreLimits, Touch
from dataplane.adapters.stores.retention import OWNED_IDS
from dataplane.core.effects import (
    Commit,
    FrozenDecision,
    OpenTurn,
    PastTurn,
    Reach,
    Scope,
    SessionView,
)

MAX_SESSIONS = 2048
MAX_PRINCIPALS = 256
MAX_TENANTS = 256
DOUBTED = Mark(epoch=-2)
Key = tuple[str, str]
Known = TypeVar("Known")


class Recent(Generic[Known]):
    """The most recently used of many, made on demand."""

    def __init__(self, make: Callable[[], Known], capacity: int) -> None:
        self._make, self._capacity = make, capacity
        self._known: OrderedDict[Key, Known] = OrderedDict()

    def get(self, key: Key) -> Known:
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
            return found
        found = self._known[key] = self._make()
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return found

    def __iter__(self) -> Iterator[Known]:
        return iter(self._known.values())

    def forget(self, tenant: str) -> None:
        for key in [key for key in self._known if key[0] == tenant]:
            del self._known[key]


@dataclass(slots=True)
class FrozenKnown:
    """The decisions of one session, those that were lost included."""

    mark: Mark = field(default_factory=Mark)
    frozen: dict[str, dict[str, str]] = field(default_factory=dict)
    lost: dict[str, set[str]] = field(default_factory=dict)

    def merge(
        self, read: Delta[tuple[int, str, str, str]], lost: Iterable[tuple[str, str]]
    ) -> None:
        if read.whole:
            self.frozen, self.lost = {}, {}
        for component, key in lost:
            self.lost.setdefault(component, set()).add(key)
        for _, component, key, replacement in read.rows:
            self.frozen.setdefault(component, {})[key] = replacement
            self.lost.get(component, set()).discard(key)
        self.mark = read.mark

    def add(self, decision: FrozenDecision) -> None:
        """One that has just become durable; the next reading meets it again."""
        known = self.frozen.setdefault(decision.component, {})
        known[decision.decision_key] = decision.replacement


@dataclass(slots=True)
class KeptKnown:
    """The content keys that one tenant, or one session, keeps verbatim."""

    mark: Mark = field(default_factory=Mark)
    keys: frozenset[str] = frozenset()

    def merge(self, read: Delta[tuple[int, str]]) -> None:
        if read.whole:
            self.keys = frozenset()
        if read.rows:
            self.keys |= {row[1] for row in read.rows}
        self.mark = read.mark


@dataclass(slots=True)
class OwnedKnown:
    """The ids that one principal, or one of its sessions, owns, with the time (s) of their
    renewal.
    """

    mark: Mark = field(default_factory=Mark)
    ids: dict[str, float] = field(default_factory=dict)

    def merge(self, read: Delta[tuple[int, str, float]]) -> None:
        if read.whole:
            self.ids = {}
        self.ids.update((marker_id, touched) for _, marker_id, touched in read.rows)
        is_overgrown = len(self.ids) > 2 * OWNED_IDS
        self.mark = Mark() if is_overgrown else read.mark  # then only the newest are read again

    def renew(self, renewed: Mapping[str, float]) -> None:
        for marker_id, at in renewed.items():
            if marker_id in self.ids:
                self.ids[marker_id] = max(self.ids[marker_id], at)


@dataclass(slots=True)
class TurnKnown:
    """The newest turn of one thread in this process. recorded: the store has it too. cached_at:
    as of PastTurn, in the store.
    """

    last: PastTurn | None = None
    recorded: bool = True
    cached_at: float = 0.0

    def noted(self, wanted: OpenTurn) -> SessionView | None:
        """The turn before, for a turn that decides nothing; None when it is not known here."""
        previous = self.last
        if previous is None:
            return None
        self.last, self.recorded = retention.turn_record(previous, wanted), False
        return SessionView(previous)

    def touch(self, wanted: Touch) -> None:
        """The store has the clock of a ping; so must whoever is answered without asking it."""
        if self.last is not None and self.last.at == wanted.since:
            self.last = self.last._replace(at=wanted.at)

    def note_cached(self, at: float) -> bool:
        """An answer to a request of that time (s) reported cache tokens; True where the store has
        to be told, which a thread at work would otherwise ask for with every turn.
        """
        if self.last is not None:
            self.last = self.last._replace(cached_at=max(self.last.cached_at, at))
        if at - self.cached_at < retention.CACHED_EVERY_S:
            return False
        self.cached_at = at
        return True

    def previous(self, read: TurnRead) -> PastTurn | None:
        """The turn before this one, with what this process knows of its cache."""
        found, last = self._newest(read), self.last
        if read.previous is not None:
            self.cached_at = max(self.cached_at, read.previous.cached_at)
        if found is None or last is None:
            return found
        return found._replace(cached_at=max(found.cached_at, last.cached_at))

    def _newest(self, read: TurnRead) -> PastTurn | None:
        """The provider holds also what was sent unrecorded. Another process may have had a later
        turn; the clock of an alias says nothing about that.
        """
        stored, last = read.previous, self.last
        if self.recorded or last is None or (read.own_at is not None and read.own_at > last.at):
            return stored
        if stored is None:
            return last
        return last._replace(at=max(last.at, stored.at), ttl_s=max(last.ttl_s, stored.ttl_s))


@dataclass(frozen=True, slots=True)
class View:
    """What is known for one scope, before and after a turn is read."""

    turn: TurnKnown
    frozen: FrozenKnown
    kept: KeptKnown
    kept_here: KeptKnown
    by_principal: OwnedKnown
    by_session: OwnedKnown

    @property
    def seen(self) -> Seen:
        return Seen(
            self.frozen.mark,
            self.kept.mark,
            self.kept_here.mark,
            self.by_principal.mark,
            self.by_session.mark,
        )

    def merge(self, read: TurnRead, wanted: OpenTurn) -> SessionView:
        previous = self.turn.previous(read)
        self.turn.last, self.turn.recorded = retention.turn_record(previous, wanted), True
        self.frozen.merge(read.frozen, read.lost)
        self.kept.merge(read.kept)
        self.kept_here.merge(read.kept_here)
        self.by_principal.merge(read.by_principal)
        self.by_session.merge(read.by_session)
        self.renew(dict.fromkeys(read.renewed, wanted.at))
        return self._known(previous, wanted.reach)

    def without_store(self, wanted: OpenTurn) -> SessionView:
        """The answer when the store gave none: decisions known here are durable, so they are
        replayed; dropping them would flip what the provider holds.
        """
        previous = self.turn.last
        self.turn.last, self.turn.recorded = retention.turn_record(previous, wanted), False
        if previous is None or self.frozen.mark == Mark():
            return SessionView(available=False)
        return self._known(previous, wanted.reach)._replace(available=False)

    def _known(self, previous: PastTurn | None, reach: Reach) -> SessionView:
        return SessionView(
            previous=previous,
            frozen={name: dict(known) for name, known in self.frozen.frozen.items()},
            lost={name: frozenset(keys) for name, keys in self.frozen.lost.items() if keys},
            kept=self._kept(reach),
            owned=self.owned,
        )

    def _kept(self, reach: Reach) -> frozenset[str]:
        here, everywhere = self.kept_here.keys, self.kept.keys
        return here if reach == "session" or not everywhere else everywhere | here

    @property
    def owned(self) -> dict[str, float]:
        return self.by_principal.ids | self.by_session.ids

    def made_by(self, wanted: Commit) -> list[FrozenDecision]:
        """The decisions of a commit that stand for originals and repeat none that was lost."""
        lost = self.frozen.lost
        return [
            decision
            for decision in wanted.decisions
            if decision.marker_ids and decision.decision_key not in lost.get(decision.component, ())
        ]

    def left_dangling(self, wanted: Commit, limits: StoreLimits) -> int:
        """How many markers are sent again although their originals are not known to be live."""
        owned = self.owned
        expiries = (
            owned[payload.marker_id] + limits.original_ttl_s
            if payload.marker_id in owned
            else -math.inf
            for payload in wanted.payloads
            if payload.renews
        )
        return sum(not retention.BATCHED.is_live(expires, wanted.at) for expires in expiries)

    def note(self, landed: Landed, decisions: Iterable[FrozenDecision], at: float) -> None:
        """What a commit at this time (s) has made durable."""
        durable = landed.committed.durable
        self.renew(landed.renewed)
        self.by_session.ids.update((id_, at) for id_ in durable if id_ not in self.by_session.ids)
        for decision in decisions:
            if durable.issuperset(decision.marker_ids):
                self.frozen.add(decision)

    def renew(self, renewed: Mapping[str, float]) -> None:
        """renewed: ids with the time (s) at which they were written or renewed."""
        for owned in (self.by_principal, self.by_session):
            owned.renew(renewed)


class Views:
    """The views of all tenants, bounded; used on the event loop only."""

    def __init__(self) -> None:
        self._turns = Recent(TurnKnown, MAX_SESSIONS)
        self._frozen = Recent(FrozenKnown, MAX_SESSIONS)
        self._kept = Recent(KeptKnown, MAX_TENANTS)
        self._kept_here = Recent(KeptKnown, MAX_SESSIONS)
        self._by_principal = Recent(OwnedKnown, MAX_PRINCIPALS)
        self._by_session = Recent(OwnedKnown, MAX_SESSIONS)

    def turn(self, scope: Scope) -> TurnKnown:
        return self._turns.get((scope.tenant, f"{scope.session_key} {scope.thread}"))

    def of(self, scope: Scope) -> View:
        return View(
            self.turn(scope),
            self._frozen.get((scope.tenant, scope.session_key)),
            self._kept.get((scope.tenant, "")),
            self._kept_here.get((scope.tenant, scope.session_key)),
            self._by_principal.get((scope.tenant, scope.principal)),
            self._by_session.get((scope.tenant, scope.session_key)),
        )

    def doubt(self) -> None:
        """The store was away and may have come back without its end: what is known is still
        replayed, and read whole at the next chance.
        """
        lists: Iterable[FrozenKnown | KeptKnown | OwnedKnown] = chain(
            self._frozen, self._kept, self._kept_here, self._by_principal, self._by_session
        )
        for known in lists:
            if known.mark != Mark():
                known.mark = DOUBTED

    def forget(self, tenant: str, *, turns: bool = False) -> None:
        """After a damaged file was replaced nothing that was read from it holds. turns: nor does
        what this process itself has seen pass.
        """
        for known in (
            self._frozen,
            self._kept,
            self._kept_here,
            self._by_principal,
            self._by_session,
        ):
            known.forget(tenant)
        if turns:
            self._turns.forget(tenant)
