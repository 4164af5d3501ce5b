"""Taking a session, or a whole tenant, out of the store for good.

Source: 03-proxy-and-recovery.md 5.8. An id that was deleted is no loss: the ledger says so.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from dataplane.adapters.stores.originals import Purged
from dataplane.adapters.stores.sqlite_file import connect_read_only
from dataplane.adapters.stores.sqlite_writer import Transaction


def purge_session(tx: Transaction, session: str, at: float) -> Purged:
    """Turns, decisions and owned ids of a session, named by its key, and the originals that nobody
    else owns.
    """
    decisions = tx.execute("DELETE FROM frozen WHERE session = ?", (session,)).rowcount
    tx.execute("DELETE FROM lost WHERE session = ?", (session,))
    tx.execute("DELETE FROM kept WHERE session = ?", (session,))
    tx.execute("DELETE FROM turn WHERE session = ?", (session,))
    sessions = tx.execute("DELETE FROM session WHERE session = ?", (session,)).rowcount
    owned = tx.execute("SELECT DISTINCT k FROM owner WHERE session = ?", (session,)).fetchall()
    tx.execute("DELETE FROM owner WHERE session = ?", (session,))
    # What others have read of the lists that have just become shorter no longer holds.
    tx.execute("UPDATE tally SET generation = generation + 1")
    originals = sum(_delete_unowned(tx, row[0], at) for row in owned)
    return Purged(originals, decisions, sessions)


def _delete_unowned(tx: Transaction, marker_id: str, at: float) -> bool:
    if tx.execute("SELECT 1 FROM owner WHERE k = ?", (marker_id,)).fetchone():
        return False
    tx.execute("DELETE FROM body WHERE id = (SELECT body FROM stash WHERE k = ?)", (marker_id,))
    tx.execute("DELETE FROM stash WHERE k = ?", (marker_id,))
    sql = "UPDATE ledger SET state = 'deleted', state_at = ? WHERE k = ?"
    tx.execute(sql, (at, marker_id))
    return True


def held_in(path: Path) -> Purged:
    """What a file holds, none for one that is not there or cannot be read."""
    if not path.exists():
        return Purged(0, 0, 0)
    try:
        with contextlib.closing(connect_read_only(path)) as connection:
            sql = "SELECT payloads, pinned + overflow, (SELECT count(*) FROM session) FROM tally"
            return Purged(*connection.execute(sql).fetchone())
    except sqlite3.Error:
        return Purged(0, 0, 0)
