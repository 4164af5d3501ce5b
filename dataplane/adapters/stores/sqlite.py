"""The durable store: one SQLite file per tenant, written by one thread.

Source: 03-proxy-and-recovery.md 5.3-5.6; 06-stack.md 10. The event loop never touches SQLite:
turns and commits go through the writer thread, recalls through a small pool of readers. What
does not answer within its time is answered for: unavailable, refused, store_error.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dataplane.adapters.stores import (
    retention,
    sqlite_decisions,
    sqlite_purge,
    sqlite_stash,
    sqlite_turn,
)
from dataplane.adapters.stores.answers import Landed, Lookup
from dataplane.adapters.stores.cipher import SealedError, UnknownKeyError
from dataplane.adapters.stores.disk import Disk, is_for_want_of_room, require_local
from dataplane.adapters.stores.later import LaterTurns, Turns
from dataplane.adapters.stores.originals import (
    SQLITE_LIMITS,
    Cached,
    Purged,
    StoreLimits,
    StoreStats,
    Touch,
)
from dataplane.adapters.stores.patience import Patience
from dataplane.adapters.stores.sqlite_file import Durability
from dataplane.adapters.stores.sqlite_writer import (
    SWEEP_EVERY_S,
    Intent,
    Removal,
    Transaction,
    Writer,
    Written,
    is_damage,
)
from dataplane.adapters.stores.tally import CommitTimes, TenantTally, store_stats
from dataplane.adapters.stores.tenant_files import TenantFile, TenantFiles
from dataplane.adapters.stores.troubles import Troubles
from dataplane.adapters.stores.views import Views
from dataplane.adapters.waiting import within
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    OpenTurn,
    Recall,
    Recalled,
    Refused,
    Scope,
    SessionView,
)
from dataplane.core.text.content import content_key
from dataplane.encryption import StoreEncryption

T = TypeVar("T")
COMMIT_TIMEOUT_S = 0.25
RECALL_TRIES = 3
RECALL_TRY_S = 0.5
RECALL_PAUSE_S = 0.1  # three tries and their pauses stay within 2 s
READERS = 4
_FAILURES = (TimeoutError, OSError, sqlite3.Error, ValueError)


class SqliteStore:
    """Originals and session state that outlive the process.

    timeout_s: how long a commit may take before it is answered for; a turn may take longer.
    encryption: None keeps values in the clear. disk: what is known of the room for them.
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
        encryption: StoreEncryption | None = None,
    ) -> None:
        self.resets: set[str] = set()
        self._state_dir, self._durability = state_dir, durability
        self._limits, self._timeout_s = limits, timeout_s
        self.disk = Disk(state_dir)
        self._tallies: dict[str, TenantTally] = {}
        self._times = CommitTimes()
        self._views = Views()
        self._troubles = Troubles()
        self._patience = Patience(self._timeout_s)
        self._doubted: set[str] = set()
        self._readers = ThreadPoolExecutor(READERS, "store-reader")
        self._files = TenantFiles(
            state_dir, durability, encryption, pool=self._readers, told=self._note_prepared
        )
        self._is_open = False
        self._later = LaterTurns(self._record_later)
        self._writer = Writer(
            durability,
            announce=self._count,
            sweep=self._sweep,
            damaged=self._doubt,
            renews=lambda: self.disk.renews,
            sweep_every_s=sweep_every_s,
        )

    @property
    def persists(self) -> bool:
        return True

    async def start(self) -> None:
        """Raises NetworkFileSystemError when the state directory is on another machine."""
        require_local(self._state_dir)
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
        if not wanted.decides and (known := self._views.turn(wanted.scope).noted(wanted)):
            self._later.note(wanted)
            return known
        if wanted.scope in self._later:
            self._later.flush()  # or it would be written over this one
        try:
            with within(self._patience.of(tenant)):
                file = await self._writable(tenant, wanted.at)
                view = self._views.of(wanted.scope)
                seen = view.seen
                read = await self._write(
                    tenant,
                    file,
                    wanted.at,
                    lambda tx: sqlite_turn.open_turn(tx, wanted, seen, limits),
                )
        except _FAILURES as error:
            self._report(tenant, error)
            self._patience.lose(tenant)
            return self._views.of(wanted.scope).without_store(wanted)
        self._patience.regain(tenant)
        return view.merge(read, wanted)

    async def commit(self, wanted: Commit) -> Committed:
        if not wanted.payloads and not wanted.decisions:
            return Committed(frozenset())
        tenant, began = wanted.scope.tenant, time.perf_counter()
        tally = self._tally(tenant)
        try:
            with within(self._timeout_s):
                file = await self._writable(tenant, wanted.at)
                landed = await self._write(
                    tenant, file, wanted.at, lambda tx: self._commit(tx, wanted, tally.limits)
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
                return Recalled(lookup.found, lookup.original, lookup.component)
            await asyncio.sleep(RECALL_PAUSE_S)
        return Recalled(Found.STORE_ERROR)

    async def touch_turn(self, wanted: Touch) -> bool:
        tenant = wanted.scope.tenant
        self._later.flush()
        try:
            with within(self._patience.of(tenant)):
                file = await self._writable(tenant, wanted.at)
                moved = await self._write(
                    tenant, file, wanted.at, lambda tx: sqlite_turn.touch(tx, wanted)
                )
        except _FAILURES as error:
            self._report(tenant, error)
            return False
        if moved:
            self._views.of(wanted.scope).turn.touch(wanted)
        return moved

    def note_cached(self, wanted: Cached) -> None:
        if self._views.of(wanted.scope).turn.note_cached(wanted.at) and self._is_open:
            self._later.flush()
            tenant = wanted.scope.tenant
            self._write_behind(tenant, wanted.at, lambda tx: sqlite_turn.note_cached(tx, wanted))

    async def purge_tenant(self, tenant: str) -> Purged:
        self._later.flush()
        async with self._files.barred(tenant) as path:
            loop = asyncio.get_running_loop()
            held = await loop.run_in_executor(self._readers, sqlite_purge.held_in, path)
            removed: asyncio.Future[None] = loop.create_future()
            self._writer.put(Removal(path, removed))
            await removed
        self._views.forget(tenant, turns=True)
        self._tallies[tenant] = TenantTally(self._tally(tenant).limits, authoritative=True)
        return held

    async def purge_session(self, scope: Scope) -> Purged:
        self._later.flush()
        tenant, session = scope.tenant, scope.session_key
        at = time.time()  # it belongs to no request, whose clock might be virtual
        file = await self._ready(tenant, at)
        purged = await self._write(
            tenant, file, at, lambda tx: sqlite_purge.purge_session(tx, session, at)
        )
        self._views.forget(tenant, turns=True)
        return purged

    def stats(self, tenant: str | None = None) -> StoreStats:
        chosen = [t for name, t in self._tallies.items() if tenant is None or name == tenant]
        return store_stats("sqlite", self._durability, chosen, self._times)

    # -- on the event loop ---------------------------------------------------------------------

    def _tally(self, tenant: str) -> TenantTally:
        if tenant not in self._tallies:
            self._tallies[tenant] = TenantTally(self._limits, authoritative=True)
        return self._tallies[tenant]

    async def _writable(self, tenant: str, at: float) -> TenantFile:
        file = await self._ready(tenant, at)
        if file.cipher.is_locked:
            raise SealedError("the store is sealed with another key")
        return file

    async def _ready(self, tenant: str, at: float) -> TenantFile:
        if not self._is_open:
            raise OSError("the store is not open")
        return await self._files.ready(tenant, at)

    def _note_prepared(self, tenant: str, file: TenantFile) -> None:
        if file.replaced:
            self._note_reset(tenant)
        if file.cipher.is_locked:
            self._troubles.undecryptable(tenant, "its data keys do not open")

    def _note_reset(self, tenant: str) -> None:
        self.resets.add(tenant)
        self._views.forget(tenant)
        self._troubles.was_reset(tenant, "a damaged file was moved aside")

    def _doubt(self, tenant: str) -> None:
        """The file is malformed, or another process put a new one in its place."""
        self._files.doubt(tenant)
        self._views.forget(tenant)
        self._doubted.add(tenant)

    async def _write(
        self, tenant: str, file: TenantFile, at: float, run: Callable[[Transaction], T]
    ) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        intent = Intent(tenant, file.path, at, run, future, file.cipher)
        self._writer.put(intent)
        try:
            result = await future
        except asyncio.CancelledError:
            intent.abandoned = True
            raise
        self._troubles.over(tenant)
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
        file = self._files.known(tenant)
        self._writer.put(Intent(tenant, file.path, at, run, future, file.cipher))

    def _note_recorded(self, tenant: str, done: asyncio.Future[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self._report(tenant, error)

    def _take_back(self, wanted: Commit) -> None:
        """A commit that was given up may still land. Its request goes out without the decisions,
        so a later turn must not replay them; this is written behind it and before that turn.
        """
        late = self._views.of(wanted.scope).made_by(wanted)
        if late:
            tenant, session = wanted.scope.tenant, wanted.scope.session_key
            self._write_behind(
                tenant, wanted.at, lambda tx: sqlite_decisions.take_back(tx, session, late)
            )

    def _unavailable(self, wanted: Commit, tally: TenantTally, error: Exception) -> Committed:
        if isinstance(error, TimeoutError):
            tally.counted["commit_timeouts"] += 1
        if is_for_want_of_room(error):
            tally.counted["refused_for_disk"] += len(wanted.payloads)
        view = self._views.of(wanted.scope)
        tally.counted["stash_missing"] += view.left_dangling(wanted, tally.limits)
        refused = {payload.marker_id: Refused.UNAVAILABLE for payload in wanted.payloads}
        return Committed(frozenset(), refused, failed=True)

    def _report(self, tenant: str, error: BaseException) -> None:
        self._troubles.unavailable(tenant, error)
        if isinstance(error, UnknownKeyError):
            self._files.doubt(tenant)

    async def _look_up(self, wanted: Recall) -> Lookup | None:
        tenant = wanted.scope.tenant
        limits = self._tally(tenant).limits
        loop = asyncio.get_running_loop()
        try:
            with within(RECALL_TRY_S):
                file = await self._ready(tenant, wanted.at)
                found = await loop.run_in_executor(self._readers, file.find, wanted, limits)
        except _FAILURES as error:
            if is_damage(error):
                self._doubt(tenant)
            self._report(tenant, error)
            return None
        if found.found is Found.DECRYPT_ERROR:
            self._troubles.undecryptable(tenant, "an original does not open")
        return found

    async def _note_recall(self, wanted: Recall, lookup: Lookup) -> None:
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
                sqlite_stash.keep(tx, wanted, key, limits)

        try:
            with within(self._timeout_s):
                file = await self._writable(tenant, wanted.at)
                await self._write(tenant, file, wanted.at, note)
        except _FAILURES as error:
            self._report(tenant, error)

    def _count(self, written: Written) -> None:
        tally = self._tally(written.tenant)
        tally.fill = written.fill
        tally.counted.update(written.happened)
        tally.authoritative = written.reset_at is None
        if written.tenant in self._doubted:
            self._doubted.discard(written.tenant)
            if written.reset_at is not None and written.tenant not in self.resets:
                self._note_reset(written.tenant)

    def _commit(self, tx: Transaction, wanted: Commit, limits: StoreLimits) -> Landed:
        """Called by the writer thread: on a nearly full disk no new original is admitted."""
        if self.disk.admits:
            return sqlite_stash.commit(tx, wanted, limits)
        before = tx.happened["stash_refused"]
        landed = sqlite_stash.commit(tx, wanted, replace(limits, max_bytes=0))
        tx.happened["refused_for_disk"] += tx.happened["stash_refused"] - before
        return landed

    def _sweep(self, tenant: str, tx: Transaction, at: float) -> int:
        """Called by the writer thread."""
        return sqlite_stash.sweep(tx, at, self._tally(tenant).limits)
