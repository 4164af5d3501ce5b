"""The control plane of this process, as a node in it sees it (03 §9; 00 §2 (row 5))."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.db import close_old_connections

from controlplane.fleet import hints, queries, upkeep
from controlplane.fleet.actions import record_acks
from controlplane.fleet.noticing import Noticing
from dataplane.core import resource

LOOK_S = 1.0  # where only a look tells
POLL_S = 0.5  # how soon a change of another process is seen; one of this process hints
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
        self._noticing = Noticing()

    async def discover(self, cursor: int | None, *, wait_s: float) -> resource.Discovery:
        self._listen()
        deadline = asyncio.get_running_loop().time() + wait_s
        while True:
            self._changed.clear()  # before the look: a commit during it wakes the next one
            found = await self._query(partial(self._look, cursor))
            if found.changes or found.resync or asyncio.get_running_loop().time() >= deadline:
                return found
            await self._rest(deadline)

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
        self._noticing.close()

    def _listen(self) -> None:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            hints.subscribe(self._wake)

    def _wake(self) -> None:
        """Called from the thread that committed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)

    def _look(self, cursor: int | None) -> resource.Discovery:
        self._noticing.is_still()  # before the look, as above
        upkeep.run()
        return queries.changes_since(cursor)

    async def _rest(self, deadline: float) -> None:
        """Until there may be something: a hint, a commit of another process, or the clock."""
        loop = asyncio.get_running_loop()
        ends = min(deadline, loop.time() + upkeep.MOST_S)
        pause_s = max(self._poll_s, LOOK_S if self._noticing.costs_a_look else 0.0)
        while not self._changed.is_set() and (left_s := ends - loop.time()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(pause_s, left_s)):
                    await self._changed.wait()
            if not await loop.run_in_executor(self._thread, self._is_still):
                return

    def _is_still(self) -> bool:
        return self._noticing.is_still() and not upkeep.is_due()

    async def _query(self, ask: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _with_fresh_connection, ask)


def _with_fresh_connection(ask: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return ask()
    finally:
        close_old_connections()
