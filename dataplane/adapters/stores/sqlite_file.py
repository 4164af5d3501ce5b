"""One tenant's database file: where it lies, its tables, how it is made, checked and opened.

Source: 03-proxy-and-recovery.md 5.6; 06-stack.md 10. A file is born complete under another name
and linked into place, so an empty or truncated store.db is always damage and never a beginning.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from dataplane.files import private_database, private_file, private_folder

Durability = Literal["process", "host"]
SYNCHRONOUS = {"process": "NORMAL", "host": "FULL"}
WRITER_BUSY_MS = 100
READER_BUSY_MS = 1000
_TENANT = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,128}")
_SIDE_FILES = ("", "-wal", "-shm")
_LOG_TRIES = 3
_LOG_PAUSE_S = 0.02

# `stash` holds the facts of an original and `body` its bytes, so that a renewal never rewrites
# the bytes; `packed` is 1 for compressed bytes, plus twice the data key that seals them. Ids grow
# and are never used twice: a reader asks for what is newer than it has seen.
# `tally` has one row, kept by triggers, so that every process sees the same counts.
# A session is named by Scope.session_key; `kept` names the whole tenant by "".
VERSION = 1
_TURN = (
    "CREATE TABLE turn(session TEXT NOT NULL, thread TEXT NOT NULL, messages INTEGER NOT NULL, "
    "at REAL NOT NULL, ttl_s INTEGER NOT NULL, offered INTEGER NOT NULL, "
    "cached_at REAL NOT NULL, PRIMARY KEY(session, thread)) WITHOUT ROWID"
)
_KEPT = (
    "CREATE TABLE kept(id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, "
    "k TEXT NOT NULL, at REAL NOT NULL, UNIQUE(session, k))",
    "CREATE INDEX kept_session ON kept(session)",
    "CREATE INDEX kept_k ON kept(k)",
    "CREATE TRIGGER kept_in AFTER INSERT ON kept BEGIN UPDATE tally SET kept = kept + 1; END",
    "CREATE TRIGGER kept_out AFTER DELETE ON kept BEGIN "
    "UPDATE tally SET kept = kept - 1, generation = generation + 1; END",
)
SCHEMA = """
CREATE TABLE meta(k TEXT PRIMARY KEY, v REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE datakey(id INTEGER PRIMARY KEY, made_for TEXT NOT NULL, kek TEXT NOT NULL,
  wrapped BLOB NOT NULL);
CREATE TABLE stash(k TEXT PRIMARY KEY, sha BLOB NOT NULL, size INTEGER NOT NULL,
  body INTEGER NOT NULL, packed INTEGER NOT NULL, touched REAL NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX stash_expires ON stash(expires);
CREATE TABLE body(id INTEGER PRIMARY KEY, v BLOB NOT NULL);
CREATE TABLE owner(id INTEGER PRIMARY KEY AUTOINCREMENT, k TEXT NOT NULL,
  principal TEXT NOT NULL, session TEXT NOT NULL, UNIQUE(k, principal, session));
CREATE INDEX owner_principal ON owner(principal);
CREATE INDEX owner_session ON owner(session);
CREATE TABLE ledger(k TEXT PRIMARY KEY, minted REAL NOT NULL, state TEXT NOT NULL,
  state_at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX ledger_state ON ledger(state, state_at);
CREATE TABLE session(session TEXT PRIMARY KEY, kind TEXT NOT NULL, version INTEGER NOT NULL,
  touched REAL NOT NULL, renewed REAL NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX session_expires ON session(expires);
CREATE INDEX session_kind ON session(kind, touched);
CREATE TABLE frozen(id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL,
  component TEXT NOT NULL, k TEXT NOT NULL, replacement TEXT NOT NULL, pinned INTEGER NOT NULL,
  UNIQUE(session, component, k));
CREATE INDEX frozen_session ON frozen(session);
CREATE INDEX frozen_overflow ON frozen(session) WHERE NOT pinned;
CREATE TABLE names(frozen INTEGER NOT NULL, k TEXT NOT NULL, PRIMARY KEY(frozen, k)) WITHOUT ROWID;
CREATE TABLE lost(id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL,
  component TEXT NOT NULL, k TEXT NOT NULL, UNIQUE(session, component, k));
CREATE TABLE tally(payloads INTEGER, bytes INTEGER, pinned INTEGER, overflow INTEGER,
  kept INTEGER, lost INTEGER, ledger INTEGER, version INTEGER, generation INTEGER);
INSERT INTO tally VALUES(0, 0, 0, 0, 0, 0, 0, 0, 0);
CREATE TRIGGER stash_in AFTER INSERT ON stash BEGIN
  UPDATE tally SET payloads = payloads + 1, bytes = bytes + NEW.size; END;
CREATE TRIGGER stash_out AFTER DELETE ON stash BEGIN
  UPDATE tally SET payloads = payloads - 1, bytes = bytes - OLD.size,
    generation = generation + 1; END;
CREATE TRIGGER frozen_in AFTER INSERT ON frozen BEGIN
  UPDATE tally SET pinned = pinned + NEW.pinned, overflow = overflow + (NOT NEW.pinned); END;
CREATE TRIGGER frozen_out AFTER DELETE ON frozen BEGIN
  UPDATE tally SET pinned = pinned - OLD.pinned, overflow = overflow - (NOT OLD.pinned);
  DELETE FROM names WHERE frozen = OLD.id; END;
CREATE TRIGGER lost_in AFTER INSERT ON lost BEGIN UPDATE tally SET lost = lost + 1; END;
CREATE TRIGGER lost_out AFTER DELETE ON lost BEGIN UPDATE tally SET lost = lost - 1; END;
CREATE TRIGGER ledger_in AFTER INSERT ON ledger BEGIN UPDATE tally SET ledger = ledger + 1; END;
CREATE TRIGGER ledger_out AFTER DELETE ON ledger BEGIN UPDATE tally SET ledger = ledger - 1; END;
"""
# Of each connection that writes, so that an original is one statement: each
# gives the interpreter away and, under load, waits to get it back.
_IN_ONE = """
CREATE TEMP VIEW original AS SELECT k, sha, size, v, packed, touched, expires, principal, session
  FROM stash JOIN body ON body.id = stash.body JOIN owner USING (k);
CREATE TEMP TRIGGER original_in INSTEAD OF INSERT ON original BEGIN
  INSERT INTO body(v) VALUES(NEW.v);
  INSERT INTO stash VALUES(NEW.k, NEW.sha, NEW.size, last_insert_rowid(), NEW.packed, NEW.touched,
    NEW.expires);
  INSERT INTO ledger VALUES(NEW.k, NEW.touched, 'live', NEW.touched)
    ON CONFLICT(k) DO UPDATE SET state = 'live', state_at = excluded.state_at;
  INSERT INTO owner(k, principal, session) VALUES(NEW.k, NEW.principal, NEW.session)
    ON CONFLICT DO NOTHING;
END;
"""
# From a file without a version. Its decisions were known by a weaker key, and nobody knows whose
# its sessions are; who minted an original is known, so it goes on opening.
_FROM_0 = (
    "DELETE FROM frozen",
    "DELETE FROM lost",
    "DELETE FROM session",
    "DROP TABLE turn",
    _TURN,
    "UPDATE owner SET session = principal || ' ' || session",
    "DROP TABLE kept",
    *_KEPT,
    "UPDATE tally SET kept = 0, version = version + 1, generation = generation + 1",
)


def segment_of(tenant: str) -> str:
    """The name a tenant's state goes by; ValueError for an id that is not a plain path segment."""
    segment = tenant or "local"
    if not _TENANT.fullmatch(segment):
        raise ValueError(f"tenant id {tenant!r} cannot name a directory")
    return segment


def store_path(state_dir: Path, tenant: str) -> Path:
    """The file of a tenant; ValueError as in segment_of."""
    return state_dir / "tenants" / segment_of(tenant) / "store.db"


def connect(path: Path, durability: Durability) -> sqlite3.Connection:
    """A connection that writes; it must stay in the thread that opened it."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        timeout=WRITER_BUSY_MS / 1000,
    )
    connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[durability]}")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    return connection


def connect_for_turns(path: Path, durability: Durability) -> sqlite3.Connection:
    """The same, with what makes one statement of several (`original`)."""
    connection = connect(path, durability)
    connection.executescript(_IN_ONE)
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        timeout=READER_BUSY_MS / 1000,
    )


def prepare(path: Path, at: float, *, thorough: bool = False) -> bool:
    """Make the file usable, once per process; True when a damaged one had to be replaced.

    at: the time (s) of the request that asks. thorough: also compare indexes with their tables.
    Raises OSError or sqlite3.Error when the directory is unusable or the file is busy.
    """
    private_folder(path.parent.parent)
    private_folder(path.parent)
    if path.exists():
        private_database(path)
    if path.exists() and _is_sound(path, thorough=thorough):
        return False
    with _alone(path.parent):
        if not path.exists():
            _create(path, reset_at=None)
            return False
        if _is_sound(path, thorough=thorough):  # another process was first
            return False
        _move_aside(path)
        _create(path, reset_at=at)
        return True


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Only one process at a time replaces a file, or the second would put the new one aside."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _is_sound(path: Path, *, thorough: bool) -> bool:
    if _lost_its_log(path):
        return False
    with contextlib.closing(connect_read_only(path)) as connection:
        try:
            check = "integrity_check" if thorough else "quick_check"
            if connection.execute(f"PRAGMA {check}(1)").fetchone() != ("ok",):
                return False
            rows: int = connection.execute("SELECT count(*) FROM tally").fetchone()[0]
            return rows == 1
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return False
            raise
        except sqlite3.DatabaseError:
            return False


def _lost_its_log(path: Path) -> bool:
    """A write-ahead log is gone whose index is still there: commits are missing.

    A process that closes the file removes first the one, then the other.
    """
    log, index = (path.with_name(path.name + suffix) for suffix in _SIDE_FILES[1:])
    for _ in range(_LOG_TRIES):
        if log.exists() or not index.exists():
            return False
        time.sleep(_LOG_PAUSE_S)
    return True


def _move_aside(path: Path) -> None:
    number = 1
    while path.with_name(f"{path.name}.corrupt-{number}").exists():
        number += 1
    for suffix in _SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            damaged = path.with_name(path.name + suffix)
            damaged.rename(path.with_name(f"{path.name}.corrupt-{number}{suffix}"))


def _create(path: Path, *, reset_at: float | None) -> None:
    newborn = path.with_name(f"{path.name}.new-{os.getpid()}")
    newborn.unlink(missing_ok=True)
    private_file(newborn)
    with contextlib.closing(sqlite3.connect(newborn, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size=4096")
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        rest = ";".join((_TURN, *_KEPT, f"PRAGMA user_version={VERSION}"))
        connection.executescript(f"BEGIN;{SCHEMA}{rest};COMMIT;")
        if reset_at is not None:
            connection.execute("INSERT INTO meta VALUES('reset_at', ?)", (reset_at,))
        if tombstone_of(path).exists():
            connection.execute("INSERT INTO meta VALUES('purged', 1)")
    for suffix in _SIDE_FILES[1:]:  # of a predecessor; its log must not be replayed into this one
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    try:
        path.hardlink_to(newborn)
    finally:
        newborn.unlink(missing_ok=True)


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file of an earlier release up to date; one that is, is left alone."""
    if _version(connection) >= VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) < VERSION:  # another process may have been first
            for statement in _FROM_0:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def remove(path: Path) -> None:
    """Unlink everything of this tenant, damaged predecessors included; what remains says only
    that there was something, so that an old marker is no alarm.
    """
    if not path.parent.exists():
        return
    with _alone(path.parent):
        tombstone_of(path).touch()
        path.unlink(missing_ok=True)  # first: without it, its log is nobody's
        for left in path.parent.glob(f"{path.name}*"):
            left.unlink(missing_ok=True)


def tombstone_of(path: Path) -> Path:
    return path.with_name("purged")
