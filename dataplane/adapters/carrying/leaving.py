"""A client that goes away ends its request, so that nobody pays for an answer that is not read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dataplane.adapters.http import Call, DisconnectedError
from dataplane.adapters.waiting import Clocks, Interruption
from dataplane.tasks import ended

WATCH_AFTER_S = 0.02  # what is answered sooner is not worth a task that watches
# Apart from limits, of which every stream has one: here only requests that are younger are waiting.
_watches = Clocks()


async def while_there(call: Call, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work unless the client leaves before it is done. Raises DisconnectedError.

    The body of the call must have been read.
    """
    time = _watches.running
    with Interruption(DisconnectedError) as leaving:
        watch = _Watch(call, leaving, time.now + WATCH_AFTER_S)
        time.add(watch)
        try:
            await work()
        finally:
            time.drop(watch)
            if watch.task is not None:
                await ended(watch.task)


class _Watch:
    """A task that waits for the client to go, made when it is worth it."""

    __slots__ = ("_call", "_leaving", "due", "task")

    def __init__(self, call: Call, leaving: Interruption, due: float) -> None:
        self._call = call
        self._leaving = leaving
        self.due = due
        self.task: asyncio.Task[None] | None = None

    def come(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self._interrupt_when_gone())

    async def _interrupt_when_gone(self) -> None:
        await self._call.until_disconnect()
        self._leaving.come()
