"""The one thread of a node that writes, and the one that checkpoints.

Source: 03-proxy-and-recovery.md 5.6; 06-stack.md 10. What waits in the queue is taken together,
one transaction per tenant file, and the futures are resolved after its COMMIT has returned. An
intent whose caller has given up is left out; one that fails takes nobody else with it.

Every statement gives the interpreter away and must wait to get it back, so under load the number of
statements decides how long a commit takes: what can be asked in one is asked in one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dataplane.adapters import failpoints
from dataplane.adapters.stores.cipher import PLAIN, Cipher
from dataplane.adapters.stores.retention import Fill
from dataplane.adapters.stores.sqlite_file import Durability, connect, connect_for_turns, remove

MAX_GROUP = 64
MAX_OPEN_FILES = 256
CHECKPOINT_EVERY_S = 0.5
MAX_LOG_FRAMES = 8192  # of a page each
SWEEP_EVERY_S = 60.0
SWEEP_ROWS = 500
_SWEEP_MORE_S = 0.1
_SHUT_S = 0.25
_FILL = "SELECT payloads, bytes, pinned, overflow, kept FROM tally"  # in the order of Fill
_LEFT_BEHIND = """
SELECT payloads, bytes, pinned, overflow, kept, (SELECT v FROM meta WHERE k = 'reset_at') FROM tally
"""
_log = logging.getLogger("headrace.store")


@dataclass(slots=True)
class Transaction:
    """An open write transaction; happened: what to count once it is durable. renews: False on a
    disk so full that not even renewals are written.
    """

    connection: sqlite3.Connection
    cipher: Cipher = PLAIN
    renews: bool = True
    happened: Counter[str] = field(default_factory=Counter)

    def execute(self, sql: str, parameters: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        return self.connection.execute(sql, parameters)


@dataclass(slots=True)
class Intent:
    """One piece of writing. path: the tenant's file. at: the time (s) of its request."""

    tenant: str
    path: Path
    at: float
    run: Callable[[Transaction], Any]
    future: asyncio.Future[Any] | None = None
    cipher: Cipher = PLAIN
    abandoned: bool = False


@dataclass(slots=True)
class Removal:
    """The end of one tenant's file, after everything that was queued before it."""

    path: Path
    future: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class Written:
    """What one transaction changed, for the figures; reset_at: None for a sound ledger."""

    tenant: str
    fill: Fill
    happened: Counter[str]
    reset_at: float | None


class ReplacedError(sqlite3.OperationalError):
    """The file is another one than was opened: somebody moved it aside or purged it."""


def is_damage(error: BaseException) -> bool:
    """True for a file that is malformed, no database at all, absent or another one."""
    if isinstance(error, ReplacedError) or type(error) is sqlite3.DatabaseError:
        return True
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CANTOPEN


class Connections:
    """Open connections of one thread by path, the least recently used closed first."""

    def __init__(self, durability: Durability) -> None:
        self._durability = durability
        self._open: OrderedDict[Path, tuple[sqlite3.Connection, int]] = OrderedDict()

    def get(self, path: Path) -> sqlite3.Connection:
        """Raises ReplacedError once when the file is not the one that was opened."""
        try:
            inode = path.stat().st_ino
        except OSError as error:
            raise ReplacedError("the file is gone") from error
        if path not in self._open:
            self._open[path] = (connect_for_turns(path, self._durability), inode)
        connection, opened = self._open[path]
        if opened != inode:
            raise ReplacedError("the file was replaced")
        self._open.move_to_end(path)
        if len(self._open) > MAX_OPEN_FILES:
            self.discard(next(iter(self._open)))
        return connection

    def discard(self, path: Path) -> None:
        if path in self._open:
            with contextlib.suppress(sqlite3.Error):
                self._open.pop(path)[0].close()

    def close(self) -> None:
        for path in list(self._open):
            self.discard(path)


Outcome = tuple[Intent, Any, Exception | None]


def fill_of(tx: Transaction) -> Fill:
    """What the file holds now, as its own triggers counted it."""
    return Fill(*tx.execute(_FILL).fetchone())


class Checkpointer:
    """Moves the write-ahead log into the file, off the thread that commits."""

    def __init__(self, durability: Durability) -> None:
        self._durability = durability
        self._lock = threading.Lock()
        self._dirty: set[Path] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-checkpoint", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def mark(self, path: Path) -> None:
        with self._lock:
            self._dirty.add(path)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(CHECKPOINT_EVERY_S):
            with self._lock:
                dirty, self._dirty = self._dirty, set()
            for path in dirty:
                # A busy or vanished file: its next write marks it again.
                with contextlib.suppress(sqlite3.Error):
                    self._checkpoint(path)
                failpoints.reached("checkpoint")

    def _checkpoint(self, path: Path) -> None:
        # Opened each time: a file that was moved aside must not be held on to.
        with contextlib.closing(connect(path, self._durability)) as connection:
            _, frames, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if frames > MAX_LOG_FRAMES:
                # A writer that never pauses keeps the log from starting over; what is left to
                # move is little now, so nobody waits long while it is cut.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


class Writer:
    """Runs intents in order, in groups. announce and resolve are called on the event loop.

    announce: told what each transaction changed. sweep: collects up to SWEEP_ROWS expired
    entries of a tenant and returns how many. damaged: told of a file found to be malformed or
    replaced. renews: asked by each transaction whether renewals may be written.
    """

    def __init__(
        self,
        durability: Durability,
        *,
        announce: Callable[[Written], None],
        sweep: Callable[[str, Transaction, float], int],
        damaged: Callable[[str], None],
        renews: Callable[[], bool] = lambda: True,
        sweep_every_s: float = SWEEP_EVERY_S,
    ) -> None:
        self._announce, self._sweep, self._damaged = announce, sweep, damaged
        self._renews = renews
        self._sweep_every_s = sweep_every_s
        self._queue: queue.SimpleQueue[Intent | Removal | None] = queue.SimpleQueue()
        self._connections = Connections(durability)
        self._checkpointer = Checkpointer(durability)
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._least_at: dict[Path, tuple[str, float]] = {}
        self._shut: dict[Path, float] = {}
        self._next_sweep = time.monotonic() + sweep_every_s
        self._closing = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._checkpointer.start()
        self._thread.start()

    def put(self, wanted: Intent | Removal) -> None:
        self._queue.put(wanted)

    def close(self) -> None:
        """Finish what is queued, then stop; blocks the calling thread."""
        self._queue.put(None)
        self._thread.join()
        self._checkpointer.close()

    def _run(self) -> None:
        while not self._closing:
            by_path: dict[Path, list[Intent]] = {}
            removals = []
            for taken in self._take():
                if isinstance(taken, Removal):
                    removals.append(taken)
                else:
                    by_path.setdefault(taken.path, []).append(taken)
            for intents in by_path.values():
                self._write(intents)
            for removal in removals:
                self._remove(removal)
            if time.monotonic() >= self._next_sweep:
                self._sweep_all()
        self._connections.close()

    def _take(self) -> list[Intent | Removal]:
        """All that waits, at most MAX_GROUP; waits for the first until the next sweep is due."""
        group: list[Intent | Removal] = []
        timeout = max(0.0, self._next_sweep - time.monotonic())
        with contextlib.suppress(queue.Empty):
            taken = self._queue.get(timeout=timeout)
            while taken is not None:
                group.append(taken)
                if len(group) == MAX_GROUP:
                    return group
                taken = self._queue.get_nowait()
            self._closing = True
        return group

    def _write(self, intents: list[Intent]) -> None:
        """One transaction over the intents of one file; every future gets an answer."""
        path = intents[0].path
        outcomes: list[Outcome]
        written: Written | None = None
        try:
            self._refuse_while_shut(path)
            outcomes, written = self._transact(path, intents)
        except sqlite3.Error as error:
            self._give_up(intents[0], error)
            outcomes = [(intent, None, error) for intent in intents]
        except Exception as error:  # noqa: BLE001  a mistake must not end every tenant's writing
            _log.exception("store write failed, intents=%d", len(intents))
            if len(intents) > 1:
                for intent in intents:
                    self._write([intent])
                return
            outcomes = [(intents[0], None, error)]
        with contextlib.suppress(RuntimeError):  # the loop is gone, and its futures with it
            self._loop.call_soon_threadsafe(self._resolve, outcomes, written)

    def _remove(self, removal: Removal) -> None:
        self._connections.discard(removal.path)
        self._least_at.pop(removal.path, None)
        self._shut.pop(removal.path, None)
        error: OSError | None = None
        try:
            remove(removal.path)
        except OSError as found:
            error = found
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_settle, removal.future, None, error)

    def _refuse_while_shut(self, path: Path) -> None:
        """A file that was locked a moment ago must not hold up the other tenants again."""
        if self._shut.get(path, 0.0) > time.monotonic():
            raise sqlite3.OperationalError("the file was locked a moment ago")
        self._shut.pop(path, None)

    def _give_up(self, intent: Intent, error: sqlite3.Error) -> None:
        self._connections.discard(intent.path)
        is_replaced = isinstance(error, ReplacedError)
        if is_damage(error):
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._damaged, intent.tenant)
        if not is_replaced:
            self._shut.setdefault(intent.path, time.monotonic() + _SHUT_S)

    def _transact(self, path: Path, intents: list[Intent]) -> tuple[list[Outcome], Written | None]:
        connection = self._connections.get(path)
        while live := [intent for intent in intents if not intent.abandoned]:
            tx = Transaction(connection, live[-1].cipher, self._renews())
            connection.execute("BEGIN IMMEDIATE")
            try:
                outcomes: list[Outcome] = [(intent, intent.run(tx), None) for intent in live]
                fill, reset_at = _left_behind(tx)
                given_up = any(intent.abandoned for intent in live)
                failpoints.reached("before_commit")
                connection.execute("ROLLBACK" if given_up else "COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            if not given_up:
                failpoints.reached("after_commit")
                self._remember(live)
                return outcomes, Written(live[0].tenant, fill, tx.happened, reset_at)
        return [], None

    def _remember(self, intents: list[Intent]) -> None:
        path = intents[0].path
        self._checkpointer.mark(path)
        least = min(intent.at for intent in intents)
        known = self._least_at.get(path)
        self._least_at[path] = (intents[0].tenant, min(least, known[1]) if known else least)

    def _resolve(self, outcomes: list[Outcome], written: Written | None) -> None:
        if written:
            self._announce(written)
        for intent, result, error in outcomes:
            if intent.future is not None:
                _settle(intent.future, result, error)

    def _sweep_all(self) -> None:
        """Collect by the earliest clock that was active since the last sweep, so that a session
        whose clock runs ahead takes nothing from one whose clock does not."""
        self._next_sweep = time.monotonic() + self._sweep_every_s
        due, self._least_at = self._least_at, {}
        for path, (tenant, at) in due.items():
            if self._sweep_one(path, tenant, at) >= SWEEP_ROWS:
                self._next_sweep = time.monotonic() + _SWEEP_MORE_S
            else:
                self._least_at.pop(path, None)

    def _sweep_one(self, path: Path, tenant: str, at: float) -> int:
        swept = [0]
        self._write(
            [Intent(tenant, path, at, lambda tx: swept.append(self._sweep(tenant, tx, at)))]
        )
        return swept[-1]


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _left_behind(tx: Transaction) -> tuple[Fill, float | None]:
    """What the file holds now, and when its ledger lost its past, if it did."""
    *fill, reset_at = tx.execute(_LEFT_BEHIND).fetchone()
    return Fill(*fill), reset_at
