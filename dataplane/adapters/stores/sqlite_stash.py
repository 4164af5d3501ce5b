"""Originals in one tenant's file: made durable, renewed, found, expired.

Source: 03-proxy-and-recovery.md 4.3, 5.3 and 5.5. Functions over an open transaction; the
thread that runs them is the writer's, except for `find`, which reads.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from dataplane.adapters import failpoints
from dataplane.adapters.stores import retention, sqlite_decisions
from dataplane.adapters.stores.answers import Landed, Lookup
from dataplane.adapters.stores.cipher import PLAIN, Cipher, SealedError
from dataplane.adapters.stores.originals import StoreLimits
from dataplane.adapters.stores.packing import Kept, looked_up, pack, unpack
from dataplane.adapters.stores.retention import BATCHED, Fill
from dataplane.adapters.stores.sqlite_writer import SWEEP_ROWS, Transaction, fill_of
from dataplane.core.effects import Commit, Committed, Found, Payload, Recall, Refused

_LEDGER_TRIM_ROWS = 500
# Whether the id was ever minted, what is held under it, and how full the store is (Fill).
_STATE = """
SELECT ledger.k IS NOT NULL, sha, size, touched, expires, payloads, bytes, pinned, overflow, kept
FROM tally LEFT JOIN ledger ON ledger.k = ?1 LEFT JOIN stash ON stash.k = ?1
"""
_KEEP = """
INSERT INTO kept(session, k, at) VALUES(?, ?, ?)
ON CONFLICT(session, k) DO UPDATE SET at = max(at, excluded.at)
"""
_ASKED_ELSEWHERE = """
SELECT 1 FROM kept WHERE k = ? AND session NOT IN ('', ?) AND abs(at - ?) <= ? LIMIT 1
"""
_LEDGER_STATES = {"expired": Found.EXPIRED, "deleted": Found.DELETED}


def commit(tx: Transaction, wanted: Commit, limits: StoreLimits) -> Landed:
    """Originals, owners, ledger rows and decisions: all of them, or none, become durable."""
    before = tx.connection.total_changes
    refused: dict[str, Refused] = {}
    landed = Landed(Committed(frozenset()))
    for payload in wanted.payloads:
        if reason := _stash(tx, wanted, payload, limits, landed.renewed):
            refused[payload.marker_id] = reason
    ids = frozenset(payload.marker_id for payload in wanted.payloads)
    landed.committed = Committed(ids - refused.keys(), refused)
    _freeze(tx, wanted, limits, landed)
    if tx.connection.total_changes != before:
        sqlite_decisions.evict_overflow(tx, limits)
        tx.happened["commits"] += 1
    return landed


def _freeze(tx: Transaction, wanted: Commit, limits: StoreLimits, landed: Landed) -> None:
    """The decisions whose originals are all durable, each renewed with the session."""
    durable, refused = landed.committed.durable, landed.committed.refused
    decisions = [
        decision
        for decision in wanted.decisions
        if all(
            id_ in durable or (id_ not in refused and _holds(tx, id_))
            for id_ in decision.marker_ids
        )
    ]
    if not decisions:
        return
    name = wanted.scope.session_key
    session = sqlite_decisions.ensure_session(tx, name, "bare", wanted.at, limits)
    # Not before the session's own renewal: a decision must not outlive its originals.
    at = max(wanted.at, session.renewed)
    for decision in decisions:
        sqlite_decisions.freeze(tx, name, decision, limits)
    named = dict.fromkeys(id_ for decision in decisions for id_ in decision.marker_ids)
    renew(tx, [id_ for id_ in named if landed.renewed.get(id_, -math.inf) < at], at, limits)
    landed.renewed |= dict.fromkeys(named, at)


def _stash(
    tx: Transaction,
    wanted: Commit,
    payload: Payload,
    limits: StoreLimits,
    renewed: dict[str, float],
) -> Refused | None:
    at, id_ = wanted.at, payload.marker_id
    row = tx.execute(_STATE, (id_,)).fetchone()
    was_minted, sha, size, touched, expires = row[:5]
    fill = Fill(*row[5:])
    if sha is not None and not BATCHED.is_live(expires, at):
        _expire(tx, [id_], at)
        sha, fill = None, fill_of(tx)
    if sha is None:
        if not payload.renews and not _has_room(tx, fill, len(payload.original), at, limits):
            tx.happened["stash_refused"] += 1
            return Refused.FULL
        tx.happened["stash_revived"] += bool(was_minted or payload.renews)
        _insert(tx, wanted, payload, limits)
        renewed[id_] = at
        return None
    if size != len(payload.original) or sha != payload.digest:
        return Refused.COLLISION
    if BATCHED.renewal_is_due(touched, at, limits.original_ttl_s):
        renew(tx, [id_], at, limits)
        renewed[id_] = at
    owner = (id_, wanted.scope.principal, wanted.scope.session_key)
    tx.execute("INSERT OR IGNORE INTO owner(k, principal, session) VALUES(?, ?, ?)", owner)
    return None


def _holds(tx: Transaction, marker_id: str) -> bool:
    return tx.execute("SELECT 1 FROM stash WHERE k = ?", (marker_id,)).fetchone() is not None


def _has_room(tx: Transaction, fill: Fill, size: int, at: float, limits: StoreLimits) -> bool:
    if size > limits.max_payload_bytes:
        return False
    if retention.admits_payload(limits, fill, size):
        return True
    collect(tx, at, limits)
    return retention.admits_payload(limits, fill_of(tx), size)


def _insert(tx: Transaction, wanted: Commit, payload: Payload, limits: StoreLimits) -> None:
    """The bytes, the facts, the line of the ledger and the owner."""
    id_, at, scope = payload.marker_id, wanted.at, wanted.scope
    packed, stored = pack(tx.cipher, id_, payload.original)
    facts = (id_, payload.digest, len(payload.original), stored, packed)
    times = (at, at + limits.original_ttl_s)
    tx.execute(
        "INSERT INTO original VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*facts, *times, scope.principal, scope.session_key),
    )


def _reseal(tx: Transaction, marker_id: str) -> None:
    """Seal with the newest data key an original that an older one, or none, protects."""
    row = tx.execute(
        "SELECT k, sha, packed, v, body FROM stash JOIN body ON body.id = stash.body "
        "WHERE k = ? AND packed >> 1 <> ?",
        (marker_id, tx.cipher.newest),
    ).fetchone()
    if row is None:
        return
    with contextlib.suppress(SealedError):  # then it stays unreadable, which is no news
        if (original := unpack(Kept(*row[:4]), tx.cipher)) is not None:
            packed, stored = pack(tx.cipher, marker_id, original)
            tx.execute("UPDATE body SET v = ? WHERE id = ?", (stored, row[4]))
            tx.execute("UPDATE stash SET packed = ? WHERE k = ?", (packed, marker_id))


def renew(tx: Transaction, marker_ids: Iterable[str], at: float, limits: StoreLimits) -> None:
    """Slide the expiry; a clock that runs behind never shortens it."""
    ids = list(marker_ids)
    if not tx.renews or not ids:
        return
    tx.connection.executemany(
        "UPDATE stash SET touched = max(touched, ?), expires = max(expires, ?) WHERE k = ?",
        [(at, at + limits.original_ttl_s, id_) for id_ in ids],
    )
    if tx.cipher.newest:
        for id_ in ids:
            _reseal(tx, id_)


def find(
    connection: sqlite3.Connection, wanted: Recall, limits: StoreLimits, cipher: Cipher = PLAIN
) -> Lookup:
    """Search one id for its owner; ids that nobody here minted are proved so by the ledger.

    Raises UnknownKeyError when the cipher is older than the value.
    """
    id_, at = wanted.marker_id, wanted.at
    row = connection.execute(
        "SELECT k, sha, packed, v, touched, expires FROM stash "
        "LEFT JOIN body ON body.id = stash.body WHERE k = ?",
        (id_,),
    ).fetchone()
    if row and BATCHED.is_live(row[5], at):
        if not (wanted.shared or _is_owner(connection, wanted)):
            return Lookup(Found.FOREIGN_SESSION)
        due = BATCHED.renewal_is_due(row[4], at, limits.original_ttl_s)
        found = looked_up(Kept(*row[:4]), cipher, due=due)
        return found if wanted.keep else replace(found, component=_component(connection, wanted))
    return Lookup(Found.EXPIRED if row else _why_missing(connection, wanted))


def _is_owner(connection: sqlite3.Connection, wanted: Recall) -> bool:
    sql = "SELECT 1 FROM owner WHERE k = ? AND principal = ?"
    return bool(connection.execute(sql, (wanted.marker_id, wanted.scope.principal)).fetchone())


def _component(connection: sqlite3.Connection, wanted: Recall) -> str:
    """Whose decision of this session the id stands in, "" where there is none."""
    row = connection.execute(
        "SELECT frozen.component FROM frozen JOIN names ON names.frozen = frozen.id "
        "WHERE frozen.session = ? AND names.k = ?",
        (wanted.scope.session_key, wanted.marker_id),
    ).fetchone()
    return row[0] if row else ""


def _why_missing(connection: sqlite3.Connection, wanted: Recall) -> Found:
    sql = "SELECT state FROM ledger WHERE k = ?"
    if row := connection.execute(sql, (wanted.marker_id,)).fetchone():
        return _LEDGER_STATES.get(row[0], Found.LOST)
    if connection.execute("SELECT 1 FROM meta WHERE k = 'purged'").fetchone():
        return Found.DELETED
    reset = connection.execute("SELECT v FROM meta WHERE k = 'reset_at'").fetchone()
    proves = reset is None or wanted.at - reset[0] >= retention.LEDGER_RETENTION_S
    return Found.NEVER_MINTED if proves and not wanted.emitted else Found.LOST


def keep(tx: Transaction, wanted: Recall, key: str, limits: StoreLimits) -> None:
    """Remember a content that was asked back; the oldest such content makes room for it."""
    own, at = wanted.scope.session_key, wanted.at
    if wanted.reach == "tenant":
        tx.execute(_KEEP, ("", key, at))
    else:
        tx.execute(_KEEP, (own, key, at))
        asked = (key, own, at, retention.ASKED_BACK_WITHIN_S)
        if wanted.reach == "auto" and tx.execute(_ASKED_ELSEWHERE, asked).fetchone():
            tx.execute(_KEEP, ("", key, at))
    excess = fill_of(tx).kept - retention.kept_capacity(limits)
    if excess > 0:
        sql = "DELETE FROM kept WHERE id IN (SELECT id FROM kept ORDER BY id LIMIT ?)"
        tx.execute(sql, (excess,))
    sqlite_decisions.evict_overflow(tx, limits)


def collect(tx: Transaction, at: float, limits: StoreLimits) -> int:
    """Drop up to SWEEP_ROWS entries that have expired by `at`; returns how many.

    Sessions go before originals, so that no decision outlives the text that it stands for.
    """
    horizon = at - BATCHED.grace_s
    sessions = _first(tx, "SELECT session FROM session WHERE expires <= ? LIMIT ?", horizon)
    for session in sessions:
        sqlite_decisions.drop_session(tx, session, limits)
    if len(sessions) >= SWEEP_ROWS:
        return len(sessions)
    originals = _first(tx, "SELECT k FROM stash WHERE expires <= ? LIMIT ?", horizon)
    _expire(tx, originals, at)
    return max(len(sessions), len(originals))


def _first(tx: Transaction, sql: str, horizon: float) -> list[str]:
    return [row[0] for row in tx.execute(sql, (horizon, SWEEP_ROWS))]


def _expire(tx: Transaction, marker_ids: list[str], at: float) -> None:
    for id_ in marker_ids:
        tx.execute("DELETE FROM body WHERE id = (SELECT body FROM stash WHERE k = ?)", (id_,))
        tx.execute("DELETE FROM stash WHERE k = ?", (id_,))
        tx.execute("DELETE FROM owner WHERE k = ?", (id_,))
        tx.execute("UPDATE ledger SET state = 'expired', state_at = ? WHERE k = ?", (at, id_))
    tx.happened["stash_expired"] += len(marker_ids)


def sweep(tx: Transaction, at: float, limits: StoreLimits) -> int:
    """The regular collection: expired entries, ledger rows past retention, free pages."""
    collected = collect(tx, at, limits)
    failpoints.reached("sweep")
    rows = tx.execute("SELECT ledger FROM tally").fetchone()[0]
    oldest = at - retention.LEDGER_RETENTION_S if rows <= retention.LEDGER_ROWS else at
    tx.execute(
        "DELETE FROM ledger WHERE k IN (SELECT k FROM ledger "
        "WHERE state IN ('expired', 'deleted') AND state_at <= ? ORDER BY state_at LIMIT ?)",
        (oldest, _LEDGER_TRIM_ROWS),
    )
    tx.execute("PRAGMA incremental_vacuum(64)").fetchall()
    return collected
