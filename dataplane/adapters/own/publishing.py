"""Puts a node's counters on a sheet, and the sheet where the other workers of the host see it.

On the event loop only what changed since the last time is encoded; the rest is done in a thread.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable

import msgspec

from dataplane.adapters.beside.keepalive import KeepAlive
from dataplane.adapters.figures import sheets
from dataplane.adapters.figures.sheets import Count, Sheet, Workers
from dataplane.adapters.figures.workers import WorkerBoard
from dataplane.adapters.parts import Parts
from dataplane.adapters.stores.disk import disk_used
from dataplane.tasks import ended

log = logging.getLogger("headrace.workers")
EVERY_S = 2.0
SELDOM = 4  # so many times seldomer at rest, which is often enough to be taken for alive


class Publisher:
    """One node's place among the workers of its host. disk_used_ratio: of the state directory."""

    def __init__(
        self, parts: Parts, keepalive: KeepAlive, clock: Callable[[], float] = time.time
    ) -> None:
        self.disk_used_ratio = 0.0
        self._parts, self._keepalive = parts, keepalive
        self._clock = clock
        self._board = WorkerBoard(parts.settings.state_dir / "workers", parts.boot_id)
        self._encoded: dict[str, msgspec.Raw] = {}
        self._publishing: asyncio.Task[None] | None = None
        self._warned: set[str] = set()

    async def start(self) -> None:
        await asyncio.to_thread(self._board.open)
        await self.publish()
        self._publishing = asyncio.get_running_loop().create_task(self._publish_often())

    async def stop(self) -> None:
        if self._publishing is None:
            return
        await ended(self._publishing)
        await asyncio.to_thread(self._board.close, self._whole())

    async def publish(self) -> None:
        await asyncio.to_thread(self._board.publish, self._whole())
        await self._warn_of_stores_apart()
        self.disk_used_ratio = await asyncio.to_thread(self._measure_disk)

    async def workers(self) -> Workers:
        """Every worker of the host as it was last published, this one too.

        All workers answer from the same files, so that what they say never goes back, whichever
        of them is asked next.
        """
        found = await asyncio.to_thread(self._board.read)
        return found if found.living else Workers((self._whole(),), found.gone)

    def sheet(self) -> Sheet:
        """This worker as a whole, without its tenants."""
        parts = self._parts
        return Sheet(
            parts.boot_id,
            self._clock(),
            parts.started_at,
            Count(parts.telemetry.process.copy(), parts.store.stats(None)),
            inflight=parts.door.inflight,
            pinned=parts.door.pinned,
            refusals=parts.telemetry.refusals.copy(),
            nacks=parts.snapshots.nacks.copy(),
            kept=self._keepalive.live,
        )

    def _whole(self) -> Sheet:
        parts, sheet = self._parts, self.sheet()
        for tenant in parts.telemetry.take_changed():
            count = Count(parts.telemetry.of(tenant), parts.store.stats(tenant))
            self._encoded[tenant] = msgspec.Raw(sheets.encode(count))
        sheet.tenants = dict(self._encoded)
        return sheet

    async def _warn_of_stores_apart(self) -> None:
        """A store in each worker's own memory opens one marker in as many as there are workers."""
        apart = [t for t in self._parts.store.tenants_in("memory") if t not in self._warned]
        if not apart:
            return
        workers = len((await asyncio.to_thread(self._board.read)).living)
        if workers > 1:
            self._warned.update(apart)
            log.error("cg.memory_store_not_shared workers=%d tenants=%s", workers, ",".join(apart))

    def _measure_disk(self) -> float:
        try:
            return disk_used(self._parts.settings.state_dir)
        except OSError:
            return self.disk_used_ratio

    async def _publish_often(self) -> None:
        for number in itertools.count(1):
            await asyncio.sleep(EVERY_S)
            is_still = self._parts.telemetry.is_still and not self._parts.door.inflight
            if is_still and number % SELDOM:
                continue
            try:
                await self.publish()
            except Exception:
                log.exception("cg.worker_sheet_failed")
