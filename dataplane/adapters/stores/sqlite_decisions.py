"""Sessions and their frozen decisions in one tenant's file.

Source: 03-proxy-and-recovery.md 5.3; 01-components.md 1.7. A session's `version` changes
whenever something of it is taken away, so that a reader with an older one reads it whole again;
what is only added is found by its growing id.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import NamedTuple

from dataplane.adapters.stores import retention
from dataplane.adapters.stores.cipher import SealedError, key_id_of
from dataplane.adapters.stores.originals import StoreLimits
from dataplane.adapters.stores.retention import BATCHED, Fill
from dataplane.adapters.stores.sqlite_writer import Transaction, fill_of
from dataplane.core.effects import FrozenDecision

FROZEN = "frz"
# A decision's replacement, whether it was lost, and how full the store is (Fill).
_KNOWN = """
SELECT (SELECT replacement FROM frozen WHERE session = ?1 AND component = ?2 AND k = ?3),
  EXISTS(SELECT 1 FROM lost WHERE session = ?1 AND component = ?2 AND k = ?3),
  payloads, bytes, pinned, overflow, kept FROM tally
"""
_DROP = "DELETE FROM frozen WHERE session = ? AND component = ? AND k = ?"
_FIND_AGAIN = "DELETE FROM lost WHERE session = ? AND component = ? AND k = ?"


class Session(NamedTuple):
    """A live session. renewed: when (s) that was last. is_new: there is one more of its kind."""

    renewed: float
    is_new: bool


def ensure_session(
    tx: Transaction, session: str, kind: str, at: float, limits: StoreLimits
) -> Session:
    """The live row of this session; one that has expired is dropped first.

    kind: own when it was opened itself, alias when it is known by another's alias, bare when it
    has no turns.
    """
    sql = "SELECT kind, expires, renewed FROM session WHERE session = ?"
    row = tx.execute(sql, (session,)).fetchone()
    if row and not BATCHED.is_live(row[1], at):
        drop_session(tx, session, limits)
        row = None
    if row is None:
        tx.execute(
            "INSERT INTO session VALUES(?, ?, ?, ?, ?, ?)",
            (session, kind, _next_version(tx), at, at, at + limits.ttl_s),
        )
        return Session(at, is_new=True)
    if row[0] != kind and (kind == "own" or row[0] == "bare"):
        tx.execute("UPDATE session SET kind = ? WHERE session = ?", (kind, session))
        return Session(row[2], is_new=True)
    return Session(row[2], is_new=False)


def _next_version(tx: Transaction) -> int:
    tx.execute("UPDATE tally SET version = version + 1")
    version: int = tx.execute("SELECT version FROM tally").fetchone()[0]
    return version


def cap_sessions(tx: Transaction, current: tuple[str, str], limits: StoreLimits) -> None:
    """Forget the turns of the sessions used longest ago; their decisions stay pinned."""
    for kind in ("own", "alias"):
        sql = "SELECT count(*) FROM session WHERE kind = ?"
        excess = tx.execute(sql, (kind,)).fetchone()[0] - limits.max_sessions
        if excess > 0:
            named = tx.execute(
                "SELECT session FROM session WHERE kind = ? AND session NOT IN (?, ?) "
                "ORDER BY touched, session LIMIT ?",
                (kind, *current, excess),
            ).fetchall()
            for (session,) in named:
                _forget_turns(tx, session)


def _forget_turns(tx: Transaction, session: str) -> None:
    tx.execute("DELETE FROM turn WHERE session = ?", (session,))
    tx.execute("UPDATE session SET kind = 'bare' WHERE session = ?", (session,))
    tx.execute(
        "DELETE FROM session WHERE session = ?1 "
        "AND NOT EXISTS (SELECT 1 FROM frozen WHERE session = ?1)",
        (session,),
    )


def freeze(tx: Transaction, session: str, decision: FrozenDecision, limits: StoreLimits) -> None:
    """Remember one decision of a live session; its originals are durable already, in this
    transaction or before.
    """
    name = (session, decision.component, decision.decision_key)
    known, was_lost, *held = tx.execute(_KNOWN, name).fetchone()
    fill = Fill(*held)
    if known is not None:
        if _in_clear(tx, name, known) == decision.replacement:
            return
        tx.execute(_DROP, name)
        fill = fill_of(tx)
    if was_lost:
        tx.execute(_FIND_AGAIN, name)
        tx.happened["frozen_repaired"] += 1
    pinned = retention.admits_pin(limits, fill)
    frozen = tx.execute(
        "INSERT INTO frozen(session, component, k, replacement, pinned) VALUES(?, ?, ?, ?, ?)",
        (*name, tx.cipher.seal_text(FROZEN, place_of(*name), decision.replacement), pinned),
    ).lastrowid
    for id_ in decision.marker_ids:
        tx.execute("INSERT OR IGNORE INTO names VALUES(?, ?)", (frozen, id_))


def _in_clear(tx: Transaction, name: tuple[str, str, str], kept: str | bytes) -> str | None:
    """The replacement that is remembered, None for one that does not open."""
    try:
        return tx.cipher.open_text(FROZEN, place_of(*name), kept)
    except SealedError:
        return None


def place_of(session: str, component: str, key: str) -> str:
    """Where a sealed replacement belongs."""
    return f"{session}:{component}:{key}"


def reseal(tx: Transaction, session: str) -> None:
    """Seal with the newest data key the replacements that an older one, or none, protects."""
    if not tx.cipher.newest:
        return
    sql = "SELECT id, component, k, replacement FROM frozen WHERE session = ?"
    for id_, component, k, kept in tx.execute(sql, (session,)).fetchall():
        if key_id_of(kept) == tx.cipher.newest:
            continue
        place = place_of(session, component, k)
        with contextlib.suppress(SealedError):  # then it stays unreadable, which is no news
            sealed = tx.cipher.seal_text(FROZEN, place, tx.cipher.open_text(FROZEN, place, kept))
            tx.execute("UPDATE frozen SET replacement = ? WHERE id = ?", (sealed, id_))


def take_back(tx: Transaction, session: str, decisions: Iterable[FrozenDecision]) -> None:
    """Forget decisions that became durable too late: their request went out without them."""
    for decision in decisions:
        name = (session, decision.component, decision.decision_key)
        known = tx.execute(_KNOWN, name).fetchone()[0]
        if known is not None and _in_clear(tx, name, known) == decision.replacement:
            tx.execute(_DROP, name)
    _outdate(tx, session)


def drop_session(tx: Transaction, session: str, limits: StoreLimits) -> None:
    """Forget a session; its decisions are remembered as lost."""
    rows = tx.execute("SELECT id FROM frozen WHERE session = ? ORDER BY id", (session,)).fetchall()
    _lose(tx, [row[0] for row in rows], limits)
    tx.execute("DELETE FROM turn WHERE session = ?", (session,))
    tx.execute("DELETE FROM session WHERE session = ?", (session,))


def evict_overflow(tx: Transaction, limits: StoreLimits) -> None:
    """Drop unpinned decisions, those of the session used longest ago first."""
    excess = retention.overflow_excess(limits, fill_of(tx))
    if not excess:
        return
    rows = tx.execute(
        "SELECT frozen.id, frozen.session FROM frozen JOIN session USING (session) "
        "WHERE NOT pinned ORDER BY touched, frozen.id LIMIT ?",
        (excess,),
    ).fetchall()
    _lose(tx, [row[0] for row in rows], limits)
    for session in {row[1] for row in rows}:
        _outdate(tx, session)


def _lose(tx: Transaction, frozen: list[int], limits: StoreLimits) -> None:
    for id_ in frozen:
        tx.execute(
            "INSERT OR IGNORE INTO lost(session, component, k) "
            "SELECT session, component, k FROM frozen WHERE id = ?",
            (id_,),
        )
        tx.execute("DELETE FROM frozen WHERE id = ?", (id_,))
    tx.happened["frozen_dropped"] += len(frozen)
    _trim_lost(tx, limits)


def _trim_lost(tx: Transaction, limits: StoreLimits) -> None:
    excess = tx.execute("SELECT lost FROM tally").fetchone()[0] - limits.max_entries
    if excess <= 0:
        return
    rows = tx.execute("SELECT id, session FROM lost ORDER BY id LIMIT ?", (excess,)).fetchall()
    tx.connection.executemany("DELETE FROM lost WHERE id = ?", [(row[0],) for row in rows])
    for session in {row[1] for row in rows}:
        _outdate(tx, session)


def _outdate(tx: Transaction, session: str) -> None:
    sql = "UPDATE session SET version = ? WHERE session = ?"
    tx.execute(sql, (_next_version(tx), session))
