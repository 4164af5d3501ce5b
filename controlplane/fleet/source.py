"""The control plane of this process, as a node in it sees it (03 section 9; 00 section 2 row 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.db import close_old_connections

from controlplane.fleet import hints, queries, upkeep
from controlplane.fleet.actions import record_acks
from dataplane.core.config import resource

POLL_S = 1.0  # how soon a change of another process is seen; one of this process hints
T = TypeVar("T")


class GoneError(LookupError):
    """The announced version is no longer there; discover again."""


class EmbeddedSource:
    """A resource.Source over the control database, used on one event loop.

    Its queries run on one thread of its own, so that they hold neither the loop nor the thread
    that Django's views share.
    """

    def __init__(self, *, poll_s: float = POLL_S) -> None:
        self._poll_s = poll_s
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedded-source")
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def discover(self, cursor: int | None, *, wait_s: float) -> resource.Discovery:
        self._listen()
        deadline = asyncio.get_running_loop().time() + wait_s
        while True:
            self._changed.clear()  # before the look: a commit during it wakes the next one
            found = await self._query(partial(_look, cursor))
            left_s = deadline - asyncio.get_running_loop().time()
            if found.changes or found.resync or left_s <= 0:
                return found
            await self._wait(min(self._poll_s, left_s))

    async def fetch(self, change: resource.Change) -> resource.Resource:
        """The announced resource or a newer version of it; GoneError when there is none."""
        found = await self._query(partial(queries.published, change.type, change.name))
        if found is None:
            raise GoneError(f"{change.type} {change.name} is not published")
        return found

    async def ack(self, acks: Sequence[resource.Ack]) -> None:
        await self._query(partial(record_acks, acks))

    def close(self) -> None:
        """Give the thread back; the source cannot be used afterwards."""
        hints.unsubscribe(self._wake)
        self._thread.shutdown(wait=True)

    def _listen(self) -> None:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            hints.subscribe(self._wake)

    def _wake(self) -> None:
        """Called from the thread that committed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _query(self, ask: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _with_fresh_connection, ask)


def _look(cursor: int | None) -> resource.Discovery:
    upkeep.run()
    return queries.changes_since(cursor)


def _with_fresh_connection(ask: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return ask()
    finally:
        close_old_connections()
