"""One tenant's originals and session state in memory (03-proxy-and-recovery.md 5.1 and 5.3)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from dataplane.adapters.stores import retention
from dataplane.adapters.stores.memory_kept import KeptVerbatim
from dataplane.adapters.stores.originals import Cached, Purged, StoreLimits, Touch
from dataplane.adapters.stores.retention import EXACT, Fill
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    FrozenDecision,
    OpenTurn,
    PastTurn,
    Payload,
    Recall,
    Recalled,
    Refused,
    Scope,
    SessionView,
)
from dataplane.core.text.content import content_key

LEDGER_IDS_PER_ENTRY = 10


@dataclass(slots=True)
class Original:
    """One stashed text. owners: principal and session (its key) of each that minted its id."""

    text: bytes
    touched: float
    expires: float
    owners: set[tuple[str, str]] = field(default_factory=set)

    @property
    def principals(self) -> set[str]:
        return {principal for principal, _ in self.owners}


@dataclass(slots=True)
class Frozen:
    """One remembered decision; order: when it was written, for eviction."""

    replacement: str
    marker_ids: tuple[str, ...]
    pinned: bool
    order: int


DecisionName = tuple[str, str]  # component, decision key


@dataclass(slots=True)
class Session:
    """kind: own for one that was opened itself, alias for one known by another's alias, bare
    for one whose turns were dropped by max_sessions or never recorded.
    """

    kind: str
    touched: float
    expires: float
    turns: dict[str, PastTurn] = field(default_factory=dict)
    decisions: dict[DecisionName, Frozen] = field(default_factory=dict)


class Tenant:
    """Everything one tenant has in memory; nothing here waits.

    purged: there was more, and it was deleted; what is not known may be of that.
    """

    def __init__(self, limits: StoreLimits, *, purged: bool = False) -> None:
        self.limits = limits
        self._purged = purged
        self._deleted: dict[str, None] = {}
        self.counted: Counter[str] = Counter()
        self.payload_bytes = 0
        self._originals: dict[str, Original] = {}
        self._sessions: dict[str, Session] = {}
        self._owned: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._lost: dict[tuple[str, str, str], None] = {}
        self._kept = KeptVerbatim()
        self._ledger: dict[str, None] = {}
        self._written = 0
        self._frozen = Counter({True: 0, False: 0})  # pinned or not: how many

    @property
    def fill(self) -> Fill:
        return Fill(
            payloads=len(self._originals),
            payload_bytes=self.payload_bytes,
            pinned=self._frozen[True],
            overflow=self._frozen[False],
            kept=len(self._kept),
        )

    # -- turns ---------------------------------------------------------------------------------

    def open_turn(self, wanted: OpenTurn) -> SessionView:
        scope, at = wanted.scope, wanted.at
        session = self._session(scope.session_key, "own", at)
        alias = self._session(scope.alias_key, "alias", at) if scope.alias else None
        alias_turn = alias.turns.get(scope.thread) if alias else None
        own = session.turns.get(scope.thread)
        previous = retention.previous_turn(own, alias_turn)
        record = retention.turn_record(previous, wanted)
        session.turns[scope.thread] = record
        if alias and alias is not session:
            alias.turns[scope.thread] = retention.alias_record(alias_turn, record)
        for touched in (session, alias) if alias else (session,):
            self._touch_session(touched, at)
        self._cap_sessions({scope.session_key, scope.alias_key})
        return self._view(wanted, session, previous)

    def touch_turn(self, wanted: Touch) -> bool:
        scope = wanted.scope
        session = self._sessions.get(scope.session_key)
        turn = session.turns.get(scope.thread) if session else None
        if session is None or turn is None or turn.at != wanted.since:
            return False
        session.turns[scope.thread] = turn._replace(at=wanted.at)
        alias = self._sessions.get(scope.alias_key)
        if alias and (known := alias.turns.get(scope.thread)):
            alias.turns[scope.thread] = known._replace(at=max(known.at, wanted.at))
        return True

    def note_cached(self, wanted: Cached) -> None:
        for name in {wanted.scope.session_key, wanted.scope.alias_key}:
            session = self._sessions.get(name)
            if session and (turn := session.turns.get(wanted.scope.thread)):
                newest = max(turn.cached_at, wanted.at)
                session.turns[wanted.scope.thread] = turn._replace(cached_at=newest)

    def _session(self, name: str, kind: str, at: float) -> Session:
        """The live session of this name, created when it is new or has expired."""
        session = self._sessions.get(name)
        if session and not EXACT.is_live(session.expires, at):
            self._drop_session(name)
            session = None
        if session is None:
            session = self._sessions[name] = Session(kind, at, at + self.limits.ttl_s)
        if kind == "own" or session.kind == "bare":
            session.kind = kind
        return session

    def _touch_session(self, session: Session, at: float) -> None:
        """A turn renews the session, its decisions and the originals that they name."""
        session.touched = max(session.touched, at)
        session.expires = max(session.expires, at + self.limits.ttl_s)
        for frozen in session.decisions.values():
            self._renew(frozen.marker_ids, at)

    def _renew(self, marker_ids: tuple[str, ...], at: float) -> None:
        for marker_id in marker_ids:
            if original := self._originals.get(marker_id):
                original.touched = max(original.touched, at)
                original.expires = max(original.expires, at + self.limits.original_ttl_s)

    def _cap_sessions(self, current: set[str]) -> None:
        """Forget the turns of the session used longest ago; its decisions stay pinned."""
        if len(self._sessions) <= self.limits.max_sessions:
            return
        for kind in ("own", "alias"):
            named = [(s.touched, name) for name, s in self._sessions.items() if s.kind == kind]
            excess = max(0, len(named) - self.limits.max_sessions)
            for _, name in sorted(n for n in named if n[1] not in current)[:excess]:
                session = self._sessions[name]
                session.kind, session.turns = "bare", {}
                if not session.decisions:
                    del self._sessions[name]

    def _view(self, wanted: OpenTurn, session: Session, previous: PastTurn | None) -> SessionView:
        scope = wanted.scope
        frozen: dict[str, dict[str, str]] = {}
        for (component, key), decision in session.decisions.items():
            frozen.setdefault(component, {})[key] = decision.replacement
        lost: dict[str, set[str]] = {}
        for name, component, key in self._lost:
            if name == scope.session_key:
                lost.setdefault(component, set()).add(key)
        ids = self._owned[scope.principal]
        return SessionView(
            previous=previous,
            frozen=frozen,
            lost={component: frozenset(keys) for component, keys in lost.items()},
            kept=self._kept.of(scope.session_key, wanted.reach),
            owned={marker_id: self._originals[marker_id].touched for marker_id in ids},
        )

    # -- commits -------------------------------------------------------------------------------

    def commit(self, wanted: Commit, *, bytes_elsewhere: int) -> Committed:
        """bytes_elsewhere: what the originals of the other tenants take of the same budget."""
        refused: dict[str, Refused] = {}
        for payload in wanted.payloads:
            if reason := self._stash(payload, wanted, bytes_elsewhere):
                refused[payload.marker_id] = reason
        for decision in wanted.decisions:
            if all(id_ not in refused and id_ in self._originals for id_ in decision.marker_ids):
                self._freeze(wanted.scope.session_key, decision, wanted.at)
        self._evict_overflow()
        self.counted["commits"] += 1
        return Committed(frozenset(p.marker_id for p in wanted.payloads) - set(refused), refused)

    def _stash(self, payload: Payload, wanted: Commit, bytes_elsewhere: int) -> Refused | None:
        original = self._originals.get(payload.marker_id)
        if original and not EXACT.is_live(original.expires, wanted.at):
            self._expire(payload.marker_id)
            original = None
        if original is None:
            if not payload.renews and not self._has_room(payload, wanted.at, bytes_elsewhere):
                self.counted["stash_refused"] += 1
                return Refused.FULL
            original = self._insert(payload, wanted.at)
        elif original.text != payload.original:
            return Refused.COLLISION
        self._renew((payload.marker_id,), wanted.at)
        self._own(payload.marker_id, original, wanted.scope)
        return None

    def _has_room(self, payload: Payload, at: float, bytes_elsewhere: int) -> bool:
        size = len(payload.original)
        if size > self.limits.max_payload_bytes:
            return False
        if retention.admits_payload(self.limits, self.fill, size + bytes_elsewhere):
            return True
        self.collect(at)
        return retention.admits_payload(self.limits, self.fill, size + bytes_elsewhere)

    def _insert(self, payload: Payload, at: float) -> Original:
        if payload.renews or payload.marker_id in self._ledger:
            self.counted["stash_revived"] += 1
        original = Original(payload.original, at, at + self.limits.original_ttl_s)
        self._originals[payload.marker_id] = original
        self.payload_bytes += len(original.text)
        self._ledger.pop(payload.marker_id, None)
        self._ledger[payload.marker_id] = None
        if len(self._ledger) > LEDGER_IDS_PER_ENTRY * self.limits.max_entries:
            del self._ledger[next(iter(self._ledger))]
        return original

    def _own(self, marker_id: str, original: Original, scope: Scope) -> None:
        original.owners.add((scope.principal, scope.session_key))
        self._owned[scope.principal][marker_id] = None

    def _freeze(self, session_name: str, decision: FrozenDecision, at: float) -> None:
        session = self._session(session_name, "bare", at)
        name = (decision.component, decision.decision_key)
        known = session.decisions.get(name)
        self._renew(decision.marker_ids, max(at, session.touched))  # it must not outlive them
        if known and known.replacement == decision.replacement:
            return
        if known:
            self._frozen[session.decisions.pop(name).pinned] -= 1
        if (session_name, *name) in self._lost:
            del self._lost[(session_name, *name)]
            self.counted["frozen_repaired"] += 1
        pinned = retention.admits_pin(self.limits, self.fill)
        self._written += 1
        self._frozen[pinned] += 1
        session.decisions[name] = Frozen(
            decision.replacement, decision.marker_ids, pinned, self._written
        )

    # -- recall --------------------------------------------------------------------------------

    def recall(self, wanted: Recall) -> Recalled:
        if not retention.could_be_minted(wanted.marker_id):
            return Recalled(Found.MALFORMED)
        original = self._originals.get(wanted.marker_id)
        if original is None or not EXACT.is_live(original.expires, wanted.at):
            return Recalled(self._why_missing(wanted.marker_id))
        if not wanted.shared and wanted.scope.principal not in original.principals:
            return Recalled(Found.FOREIGN_SESSION)
        self._renew((wanted.marker_id,), wanted.at)
        if wanted.keep:
            key = content_key(original.text.decode("utf-8", "replace"))
            self._kept.keep(wanted, key, capacity=retention.kept_capacity(self.limits))
            self._evict_overflow()
        return Recalled(Found.RESOLVED, original.text, self._component(wanted))

    def _component(self, wanted: Recall) -> str:
        """Whose decision of this session the id stands in, "" where there is none. As in the
        other stores nobody asks for it where the model is shown the text.
        """
        if wanted.keep:
            return ""
        session = self._sessions.get(wanted.scope.session_key)
        decisions = session.decisions.items() if session else ()
        return next((name[0] for name, d in decisions if wanted.marker_id in d.marker_ids), "")

    def _why_missing(self, marker_id: str) -> Found:
        if marker_id in self._ledger:
            return Found.EXPIRED
        return Found.DELETED if self._purged or marker_id in self._deleted else Found.LOST

    # -- leaving -------------------------------------------------------------------------------

    def collect(self, at: float) -> None:
        """Drop what has expired by `at`: sessions first, so that no decision outlives its text."""
        for name, session in list(self._sessions.items()):
            if not EXACT.is_live(session.expires, at):
                self._drop_session(name)
        for marker_id, original in list(self._originals.items()):
            if not EXACT.is_live(original.expires, at):
                self._expire(marker_id)

    def _expire(self, marker_id: str) -> None:
        self._forget(marker_id)
        self.counted["stash_expired"] += 1

    def _forget(self, marker_id: str) -> None:
        original = self._originals.pop(marker_id)
        self.payload_bytes -= len(original.text)
        for principal in original.principals:
            self._owned[principal].pop(marker_id, None)

    @property
    def held(self) -> Purged:
        """How much there is of what a purge takes away."""
        return Purged(len(self._originals), sum(self._frozen.values()), len(self._sessions))

    def purge_session(self, scope: Scope) -> Purged:
        """Delete a session and the originals that nobody else owns."""
        before, name = self.held, scope.session_key
        if session := self._sessions.pop(name, None):
            for frozen in session.decisions.values():
                self._frozen[frozen.pinned] -= 1
        self._lost = {key: None for key in self._lost if key[0] != name}
        self._kept.forget(name)
        for marker_id in list(self._owned[scope.principal]):
            original = self._originals[marker_id]
            if (scope.principal, name) in original.owners:
                self._disown(marker_id, original, scope)
        after = self.held
        return Purged(
            before.originals - after.originals,
            before.decisions - after.decisions,
            before.sessions - after.sessions,
        )

    def _disown(self, marker_id: str, original: Original, scope: Scope) -> None:
        original.owners.discard((scope.principal, scope.session_key))
        if scope.principal not in original.principals:
            del self._owned[scope.principal][marker_id]
        if not original.owners:
            self._delete(marker_id)

    def _delete(self, marker_id: str) -> None:
        self._forget(marker_id)
        del self._ledger[marker_id]
        self._deleted[marker_id] = None
        if len(self._deleted) > LEDGER_IDS_PER_ENTRY * self.limits.max_entries:
            del self._deleted[next(iter(self._deleted))]

    def _drop_session(self, name: str) -> None:
        session = self._sessions.pop(name)
        for decision, frozen in session.decisions.items():
            self._lose(name, decision, frozen)

    def _lose(self, session_name: str, decision: DecisionName, frozen: Frozen) -> None:
        self._frozen[frozen.pinned] -= 1
        self._lost[(session_name, *decision)] = None
        self.counted["frozen_dropped"] += 1
        if len(self._lost) > self.limits.max_entries:
            del self._lost[next(iter(self._lost))]

    def _evict_overflow(self) -> None:
        """Drop unpinned decisions, those of the session used longest ago first."""
        excess = retention.overflow_excess(self.limits, self.fill)
        if not excess:
            return
        ordinary = [
            (session.touched, frozen.order, name, decision)
            for name, session in self._sessions.items()
            for decision, frozen in session.decisions.items()
            if not frozen.pinned
        ]
        for _, _, name, decision in sorted(ordinary)[:excess]:
            self._lose(name, decision, self._sessions[name].decisions.pop(decision))
