"""The two pages of /metrics: this worker's, remembered for a while, and the host's.

A page is built in a thread from a copy that was taken on the event loop, so that many series
hold up no request. Source: 03-proxy-and-recovery.md 1.2, 6.2.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from dataplane.adapters.figures import sheets
from dataplane.adapters.figures.metrics import Page, exposition
from dataplane.adapters.figures.sheets import Sheet
from dataplane.adapters.own.publishing import Publisher
from dataplane.adapters.serving.snapshots import Snapshots

REMEMBERED_S = 10.0


class MetricsPages:
    """clock: seconds, monotonic. beside: the series of whoever runs in the same process."""

    def __init__(
        self,
        publisher: Publisher,
        snapshots: Snapshots,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.beside: Callable[[], bytes] = bytes
        self._publisher = publisher
        self._snapshots = snapshots
        self._clock = clock
        self._building = asyncio.Lock()
        self._page = b""
        self._built_at: float | None = None

    async def process(self) -> bytes:
        """This worker's page, at most ten seconds old."""
        async with self._building:
            now = self._clock()
            if self._built_at is None or now - self._built_at >= REMEMBERED_S:
                sheet = self._publisher.sheet()
                self._page = await asyncio.to_thread(
                    self._written, self._with_facts(sheet, "this process")
                )
                self._built_at = now
            return self._page

    async def host(self) -> bytes:
        """The sum over all workers of this host, never remembered.

        A page that each worker remembered for itself would go back in time from one scrape to
        the next, and a counter that goes back reads as a restart.
        """
        async with self._building:
            workers = await self._publisher.workers()
            sheet = await asyncio.to_thread(sheets.summed, workers)
            page = self._with_facts(sheet, "the workers of this host")
            return await asyncio.to_thread(self._written, page)

    def _written(self, page: Page) -> bytes:
        return exposition(page) + self.beside()

    def _with_facts(self, sheet: Sheet, where: str) -> Page:
        snapshots = self._snapshots
        return Page(
            sheet,
            where,
            _version(),
            {uid: tenant.body.label for uid, tenant in snapshots.tenants.items()},
            {uid: tenant.version[1] for uid, tenant in snapshots.tenants.items()},
            snapshots.staleness_s,
        )


def _version() -> str:
    try:
        return version("headrace")
    except PackageNotFoundError:
        return "unknown"
