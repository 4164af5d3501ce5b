"""The durable store: one SQLite file per tenant, written by one thread.

Source: 03-proxy-and-recovery.md 5.3-5.6; 06-stack.md 10. The event loop never touches SQLite:
turns and commits go through the writer thread, recalls through a small pool of readers. What
does not answer within its time is answered for: unavailable, refused, store_error.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dataplane.adapters.originals import SQLITE_LIMITS, StoreLimits, StoreStats
from dataplane.adapters.stores import retention, sqlite_decisions, sqlite_stash, sqlite_turn
from dataplane.adapters.stores.later import LaterTurns, Turns
from dataplane.adapters.stores.sqlite_file import (
    Durability,
    connect_read_only,
    prepare,
    store_path,
)
from dataplane.adapters.stores.sqlite_writer import (
    SWEEP_EVERY_S,
    Intent,
    Transaction,
    Writer,
    Written,
)
from dataplane.adapters.stores.tally import CommitTimes, TenantTally, store_stats
from dataplane.adapters.stores.views import Views
from dataplane.core.content import content_key
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    OpenTurn,
    Recall,
    Recalled,
    Refused,
    SessionView,
)

T = TypeVar("T")
COMMIT_TIMEOUT_S = 0.25
TURN_PATIENCE_S = 2.0
RECALL_TRIES = 3
RECALL_TRY_S = 0.5
RECALL_PAUSE_S = 0.1  # three tries and their pauses stay within 2 s
READERS = 4
DISK_REFUSES_AT = 0.9
_FAILURES = (TimeoutError, OSError, sqlite3.Error, ValueError)
_log = logging.getLogger("headrace.store")


def disk_used(path: Path) -> float:
    """The used share (0 to 1) of the file system that `path` is on."""
    usage = shutil.disk_usage(path)
    return usage.used / (usage.used + usage.free)


class SqliteStore:
    """Originals and session state that outlive the process.

    timeout_s: how long a commit may take before it is answered for; a turn may take longer.
    disk_used: the used share of the disk, from DISK_REFUSES_AT on new originals are refused.
    resets: tenants whose damaged file was replaced since the start.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        durability: Durability = "process",
        limits: StoreLimits = SQLITE_LIMITS,
        timeout_s: float = COMMIT_TIMEOUT_S,
        sweep_every_s: float = SWEEP_EVERY_S,
        disk_used: Callable[[Path], float] = disk_used,
    ) -> None:
        self.resets: set[str] = set()
        self._state_dir, self._durability = state_dir, durability
        self._limits, self._timeout_s = limits, timeout_s
        self._disk_used = disk_used
        self._tallies: dict[str, TenantTally] = {}
        self._times = CommitTimes()
        self._views = Views()
        self._prepared: dict[str, asyncio.Future[bool]] = {}
        self._failing: set[str] = set()
        self._unopened: set[str] = set()
        self._readers = ThreadPoolExecutor(READERS, "store-reader")
        self._is_open = False
        self._later = LaterTurns(self._record_later)
        self._writer = Writer(
            durability,
            announce=self._count,
            sweep=self._sweep,
            damaged=self._forget_damaged,
            sweep_every_s=sweep_every_s,
        )

    @property
    def persists(self) -> bool:
        return True

    async def start(self) -> None:
        self._writer.start(asyncio.get_running_loop())
        self._is_open = True

    async def close(self) -> None:
        if self._is_open:
            self._later.flush()
            self._is_open = False
            await asyncio.to_thread(self._writer.close)
        self._readers.shutdown(wait=False, cancel_futures=True)

    def set_limits(self, tenant: str, limits: StoreLimits) -> None:
        self._tally(tenant).limits = limits

    async def open_turn(self, wanted: OpenTurn) -> SessionView:
        tenant, limits = wanted.scope.tenant, self._tally(wanted.scope.tenant).limits
        if not wanted.decides and (known := self._views.of(wanted.scope).noted(wanted)):
            self._later.note(wanted)
            return known
        try:
            async with asyncio.timeout(self._patience_s(tenant)):
                path = await self._ready(tenant, wanted.at)
                view = self._views.of(wanted.scope)
                seen = view.seen
                read = await self._write(
                    tenant,
                    path,
                    wanted.at,
                    lambda tx: sqlite_turn.open_turn(tx, wanted, seen, limits),
                )
        except _FAILURES as error:
            self._report(tenant, error)
            self._unopened.add(tenant)
            return self._views.of(wanted.scope).without_store(wanted)
        self._unopened.discard(tenant)
        return view.merge(read, wanted)

    async def commit(self, wanted: Commit) -> Committed:
        if not wanted.payloads and not wanted.decisions:
            return Committed(frozenset())
        tenant, began = wanted.scope.tenant, time.perf_counter()
        tally = self._tally(tenant)
        try:
            async with asyncio.timeout(self._timeout_s):
                path = await self._ready(tenant, wanted.at)
                landed = await self._write(
                    tenant,
                    path,
                    wanted.at,
                    lambda tx: sqlite_stash.commit(tx, wanted, self._with_disk(tally.limits)),
                )
        except _FAILURES as error:
            self._report(tenant, error)
            if isinstance(error, TimeoutError):
                self._take_back(wanted)
            return self._unavailable(wanted, tally, error)
        self._times.add(time.perf_counter() - began)
        self._views.of(wanted.scope).note(landed, wanted.decisions, wanted.at)
        return landed.committed

    async def recall(self, wanted: Recall) -> Recalled:
        if not retention.could_be_minted(wanted.marker_id):
            return Recalled(Found.MALFORMED)
        for _ in range(RECALL_TRIES):
            if lookup := await self._look_up(wanted):
                await self._note_recall(wanted, lookup)
                return Recalled(lookup.found, lookup.original)
            await asyncio.sleep(RECALL_PAUSE_S)
        return Recalled(Found.STORE_ERROR)

    def stats(self, tenant: str | None = None) -> StoreStats:
        chosen = [t for name, t in self._tallies.items() if tenant is None or name == tenant]
        return store_stats("sqlite", self._durability, chosen, self._times)

    # -- on the event loop ---------------------------------------------------------------------

    def _patience_s(self, tenant: str) -> float:
        """How long a turn waits to be opened: without it, all that was decided flips back, which
        costs more than the wait. One that followed a failed turn has no such patience.
        """
        if tenant in self._unopened:
            return self._timeout_s
        return max(TURN_PATIENCE_S, self._timeout_s)

    def _tally(self, tenant: str) -> TenantTally:
        if tenant not in self._tallies:
            self._tallies[tenant] = TenantTally(self._limits, authoritative=True)
        return self._tallies[tenant]

    async def _ready(self, tenant: str, at: float) -> Path:
        """The tenant's file, made or checked once per process; its first caller waits for that."""
        if not self._is_open:
            raise OSError("the store is not open")
        path = store_path(self._state_dir, tenant)
        prepared = self._prepared.get(tenant)
        if prepared is None:
            loop = asyncio.get_running_loop()
            prepared = loop.run_in_executor(self._readers, prepare, path, at)
            self._prepared[tenant] = prepared
            prepared.add_done_callback(lambda done: self._note_prepared(tenant, done))
        await asyncio.shield(prepared)
        return path

    def _note_prepared(self, tenant: str, done: asyncio.Future[bool]) -> None:
        if done.cancelled() or done.exception():
            self._prepared.pop(tenant, None)  # the next request tries again
        elif done.result():
            self.resets.add(tenant)
            self._views.forget(tenant)
            _log.error("cg.store_reset tenant=%s: a damaged file was moved aside", tenant)

    def _forget_damaged(self, tenant: str) -> None:
        """Called by the writer thread: the file is malformed, so check it again."""
        self._prepared.pop(tenant, None)

    async def _write(
        self, tenant: str, path: Path, at: float, run: Callable[[Transaction], T]
    ) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        intent = Intent(tenant, path, at, run, future)
        self._writer.put(intent)
        try:
            result = await future
        except asyncio.CancelledError:
            intent.abandoned = True
            raise
        self._failing.discard(tenant)
        return result

    def _record_later(self, tenant: str, turns: Turns) -> None:
        """Write turns that nobody waits for; their threads were opened here, so the file exists."""
        limits, newest = self._tally(tenant).limits, max(turn.at for turn in turns)

        def record(tx: Transaction) -> None:
            for turn in turns:
                sqlite_turn.record(tx, turn, limits)

        self._write_behind(tenant, newest, record)

    def _write_behind(self, tenant: str, at: float, run: Callable[[Transaction], None]) -> None:
        """Write what nobody waits for, behind all that was asked for before."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: self._note_recorded(tenant, done))
        self._writer.put(Intent(tenant, store_path(self._state_dir, tenant), at, run, future))

    def _note_recorded(self, tenant: str, done: asyncio.Future[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self._report(tenant, error)

    def _take_back(self, wanted: Commit) -> None:
        """A commit that was given up may still land. Its request goes out without the decisions,
        so a later turn must not replay them; this is written behind it and before that turn.
        """
        lost = self._views.of(wanted.scope).frozen.lost
        late = [
            decision
            for decision in wanted.decisions
            if decision.marker_ids and decision.decision_key not in lost.get(decision.component, ())
        ]
        if late:
            tenant, session = wanted.scope.tenant, wanted.scope.session
            self._write_behind(
                tenant, wanted.at, lambda tx: sqlite_decisions.take_back(tx, session, late)
            )

    def _unavailable(self, wanted: Commit, tally: TenantTally, error: Exception) -> Committed:
        if isinstance(error, TimeoutError):
            tally.counted["commit_timeouts"] += 1
        tally.counted["stash_missing"] += self._left_dangling(wanted, tally.limits)
        refused = {payload.marker_id: Refused.UNAVAILABLE for payload in wanted.payloads}
        return Committed(frozenset(), refused)

    def _left_dangling(self, wanted: Commit, limits: StoreLimits) -> int:
        """How many markers are sent again although their originals are not known to be live."""
        owned = self._views.of(wanted.scope).owned
        expiries = (
            owned[payload.marker_id] + limits.ttl_s if payload.marker_id in owned else -math.inf
            for payload in wanted.payloads
            if payload.renews
        )
        return sum(not retention.BATCHED.is_live(expires, wanted.at) for expires in expiries)

    def _report(self, tenant: str, error: BaseException) -> None:
        """One line when a tenant's store begins to fail, not one per request."""
        if tenant not in self._failing:
            self._failing.add(tenant)
            _log.warning("cg.store_unavailable tenant=%s: %r", tenant, error)

    async def _look_up(self, wanted: Recall) -> sqlite_stash.Lookup | None:
        tenant = wanted.scope.tenant
        limits = self._tally(tenant).limits
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(RECALL_TRY_S):
                path = await self._ready(tenant, wanted.at)
                return await loop.run_in_executor(self._readers, _find, path, wanted, limits)
        except _FAILURES as error:
            self._report(tenant, error)
            return None

    async def _note_recall(self, wanted: Recall, lookup: sqlite_stash.Lookup) -> None:
        """Write what a read leaves behind; the answer stands, whether or not this succeeds."""
        if lookup.original is None or not (lookup.due or wanted.keep):
            return
        tenant = wanted.scope.tenant
        limits = self._tally(tenant).limits
        key = content_key(lookup.original.decode("utf-8", "replace")) if wanted.keep else ""

        def note(tx: Transaction) -> None:
            if lookup.due:
                sqlite_stash.renew(tx, [wanted.marker_id], wanted.at, limits)
            if key:
                sqlite_stash.keep(tx, key, limits)

        try:
            async with asyncio.timeout(self._timeout_s):
                path = store_path(self._state_dir, tenant)
                await self._write(tenant, path, wanted.at, note)
        except _FAILURES as error:
            self._report(tenant, error)

    def _count(self, written: Written) -> None:
        tally = self._tally(written.tenant)
        tally.fill = written.fill
        tally.counted.update(written.happened)
        tally.authoritative = written.reset_at is None

    def _with_disk(self, limits: StoreLimits) -> StoreLimits:
        """Called by the writer thread: on a nearly full disk no new original is admitted."""
        is_nearly_full = self._disk_used(self._state_dir) >= DISK_REFUSES_AT
        return replace(limits, max_bytes=0) if is_nearly_full else limits

    def _sweep(self, tenant: str, tx: Transaction, at: float) -> int:
        """Called by the writer thread."""
        return sqlite_stash.sweep(tx, at, self._tally(tenant).limits)


def _find(path: Path, wanted: Recall, limits: StoreLimits) -> sqlite_stash.Lookup:
    with contextlib.closing(connect_read_only(path)) as connection:
        connection.execute("BEGIN")  # original, owner and ledger as of one moment
        return sqlite_stash.find(connection, wanted, limits)
