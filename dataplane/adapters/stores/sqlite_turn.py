"""Opening a turn in one tenant's file: record it, return the one before, read what is new.

Source: 03-proxy-and-recovery.md 2.4, 2.5 and 5.3. The caller says what it has seen, so a turn
of a long session reads only what was added since.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from dataplane.adapters.stores import retention, sqlite_decisions, sqlite_stash
from dataplane.adapters.stores.answers import Delta, Mark, Seen, TurnRead
from dataplane.adapters.stores.cipher import SealedError, UnknownKeyError
from dataplane.adapters.stores.originals import Cached, StoreLimits, Touch
from dataplane.adapters.stores.retention import BATCHED
from dataplane.adapters.stores.sqlite_writer import Transaction
from dataplane.core.effects import OpenTurn, PastTurn, Scope

# Each gives the id first and takes, last, the id after which to begin.
_FROZEN = (
    "SELECT id, component, k, replacement FROM frozen WHERE session = ? AND id > ? ORDER BY id"
)
_LOST = "SELECT component, k FROM lost WHERE session = ?"
_KEPT = "SELECT id, k FROM kept WHERE session = ? AND id > ? ORDER BY id"
_OWNED = "SELECT owner.id, owner.k, touched FROM owner JOIN stash ON stash.k = owner.k "
_NEWEST = f"AND owner.id > ? ORDER BY owner.id DESC LIMIT {retention.OWNED_IDS}"
_BY_PRINCIPAL = f"{_OWNED}WHERE principal = ? {_NEWEST}"
_BY_SESSION = f"{_OWNED}WHERE session = ? {_NEWEST}"

# The epochs of a session and of its tenant, then the newest id of each list, -1 for an empty one.
_NEWEST_OF_EACH = """
SELECT session.version, generation,
  ifnull((SELECT max(id) FROM frozen WHERE frozen.session = ?1), -1),
  ifnull((SELECT max(id) FROM kept WHERE kept.session = ''), -1),
  ifnull((SELECT max(id) FROM kept WHERE kept.session = ?1), -1),
  ifnull((SELECT max(id) FROM owner WHERE principal = ?2), -1),
  ifnull((SELECT max(id) FROM owner WHERE owner.session = ?1), -1)
FROM tally, session WHERE session.session = ?1
"""


def open_turn(tx: Transaction, wanted: OpenTurn, seen: Seen, limits: StoreLimits) -> TurnRead:
    """One turn of one session, atomically; nobody else's turn can come between."""
    return _read(tx, wanted.scope, seen, record(tx, wanted, limits))


class Recorded(NamedTuple):
    """previous, own_at and renewed as in TurnRead."""

    previous: PastTurn | None
    own_at: float | None
    renewed: list[str]


def record(tx: Transaction, wanted: OpenTurn, limits: StoreLimits) -> Recorded:
    """Write one turn."""
    scope, at = wanted.scope, wanted.at
    own_key = scope.session_key
    alias = scope.alias_key if scope.alias_key != own_key else ""
    names = {own_key: "own", alias: "alias"} if alias else {own_key: "own"}
    sessions = {
        name: sqlite_decisions.ensure_session(tx, name, kind, at, limits)
        for name, kind in names.items()
    }
    own = _turn(tx, own_key, scope.thread)
    previous = _record(tx, wanted, own, alias)
    renewed = [
        marker_id
        for name, session in sessions.items()
        for marker_id in _renew_session(tx, name, session.renewed, at, limits)
    ]
    if any(session.is_new for session in sessions.values()):
        sqlite_decisions.cap_sessions(tx, (own_key, alias), limits)
    return Recorded(previous, own.at if own else None, renewed)


def _record(tx: Transaction, wanted: OpenTurn, own: PastTurn | None, alias: str) -> PastTurn | None:
    session, thread = wanted.scope.session_key, wanted.scope.thread
    alias_turn = _turn(tx, alias, thread) if alias else None
    previous = retention.previous_turn(own, alias_turn)
    record = retention.turn_record(previous, wanted)
    _put_turn(tx, session, thread, record)
    if alias:
        _put_turn(tx, alias, thread, retention.alias_record(alias_turn, record))
    return previous


def touch(tx: Transaction, wanted: Touch) -> bool:
    """Restart the clock of a thread whose last turn was at `since`; False for any other."""
    scope = wanted.scope
    moved = tx.execute(
        "UPDATE turn SET at = ? WHERE session = ? AND thread = ? AND at = ?",
        (wanted.at, scope.session_key, scope.thread, wanted.since),
    )
    if not moved.rowcount:
        return False
    if scope.alias and scope.alias != scope.session:
        tx.execute(
            "UPDATE turn SET at = max(at, ?) WHERE session = ? AND thread = ?",
            (wanted.at, scope.alias_key, scope.thread),
        )
    return True


def note_cached(tx: Transaction, wanted: Cached) -> None:
    """The provider caches this thread, under whichever name it comes."""
    scope = wanted.scope
    tx.execute(
        "UPDATE turn SET cached_at = max(cached_at, ?) WHERE session IN (?, ?) AND thread = ?",
        (wanted.at, scope.session_key, scope.alias_key or scope.session_key, scope.thread),
    )


def _turn(tx: Transaction, session: str, thread: str) -> PastTurn | None:
    sql = (
        "SELECT messages, at, ttl_s, offered, cached_at FROM turn WHERE session = ? AND thread = ?"
    )
    row = tx.execute(sql, (session, thread)).fetchone()
    return PastTurn(row[0], row[1], row[2], bool(row[3]), row[4]) if row else None


def _put_turn(tx: Transaction, session: str, thread: str, turn: PastTurn) -> None:
    tx.execute(
        "INSERT INTO turn VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(session, thread) DO UPDATE SET "
        "messages = excluded.messages, at = excluded.at, ttl_s = excluded.ttl_s, "
        "offered = excluded.offered, cached_at = excluded.cached_at",
        (session, thread, turn.messages, turn.at, turn.ttl_s, turn.offered, turn.cached_at),
    )


def _renew_session(
    tx: Transaction, session: str, renewed: float, at: float, limits: StoreLimits
) -> list[str]:
    """Slide the session with the originals its decisions name, in that order of expiry; returns
    the ids renewed, none when the last renewal is recent enough.
    """
    tx.execute("UPDATE session SET touched = max(touched, ?) WHERE session = ?", (at, session))
    if not tx.renews or not BATCHED.renewal_is_due(renewed, at, limits.original_ttl_s):
        return []
    tx.execute(
        "UPDATE session SET renewed = ?, expires = max(expires, ?) WHERE session = ?",
        (at, at + limits.ttl_s, session),
    )
    named = tx.execute(
        "SELECT DISTINCT names.k FROM frozen JOIN names ON names.frozen = frozen.id "
        "WHERE session = ?",
        (session,),
    )
    marker_ids = [row[0] for row in named]
    sqlite_stash.renew(tx, marker_ids, at, limits)
    sqlite_decisions.reseal(tx, session)
    return marker_ids


def _read(tx: Transaction, scope: Scope, seen: Seen, recorded: Recorded) -> TurnRead:
    session = scope.session_key
    about = (session, scope.principal)
    version, generation, *newest = tx.execute(_NEWEST_OF_EACH, about).fetchone()
    frozen_to, kept_to, here_to, principal_to, session_to = newest
    frozen = _added(tx, _FROZEN, (session,), seen.frozen, Mark(version, frozen_to))
    lost = tx.execute(_LOST, (session,)).fetchall() if frozen.whole else []
    frozen = replace(frozen, rows=_opened(tx, session, frozen.rows, lost))
    return TurnRead(
        previous=recorded.previous,
        own_at=recorded.own_at,
        frozen=frozen,
        lost=lost,
        kept=_added(tx, _KEPT, ("",), seen.kept, Mark(generation, kept_to)),
        kept_here=_added(tx, _KEPT, (session,), seen.kept_here, Mark(generation, here_to)),
        by_principal=_added(
            tx,
            _BY_PRINCIPAL,
            (scope.principal,),
            seen.by_principal,
            Mark(generation, principal_to),
        ),
        by_session=_added(
            tx, _BY_SESSION, (session,), seen.by_session, Mark(generation, session_to)
        ),
        renewed=recorded.renewed,
    )


def _opened(
    tx: Transaction,
    session: str,
    rows: list[tuple[int, str, str, str | bytes]],
    lost: list[tuple[str, str]],
) -> list[tuple[int, str, str, str]]:
    """The decisions in the clear; one that does not open joins the lost."""
    opened = []
    for id_, component, key, kept in rows:
        place = sqlite_decisions.place_of(session, component, key)
        try:
            replacement = tx.cipher.open_text(sqlite_decisions.FROZEN, place, kept)
        except UnknownKeyError:
            raise
        except SealedError:
            tx.happened["decrypt_errors"] += 1
            lost.append((component, key))
            continue
        opened.append((id_, component, key, replacement))
    return opened


def _added(
    tx: Transaction, sql: str, about: tuple[str, ...], seen: Mark, newest: Mark
) -> Delta[Any]:
    """The rows of `sql` newer than seen, or all of them when the epoch is another one."""
    whole = seen.epoch != newest.epoch
    since = -1 if whole else seen.last
    rows = tx.execute(sql, (*about, since)).fetchall() if newest.last > since else []
    last = max(rows[0][0], rows[-1][0]) if rows else since
    return Delta(whole, rows, Mark(newest.epoch, last))
