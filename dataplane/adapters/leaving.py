"""A client that goes away ends its request, so that nobody pays for an answer that is not read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dataplane.adapters.http import Call, DisconnectedError

WATCH_AFTER_S = 0.02  # what is answered sooner is not worth a task that watches


async def while_there(call: Call, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work unless the client leaves before it is done. Raises DisconnectedError.

    The body of the call must have been read.
    """
    watches: list[asyncio.Task[None]] = []
    try:
        async with asyncio.TaskGroup() as group:
            later = asyncio.get_running_loop().call_later(
                WATCH_AFTER_S, lambda: watches.append(group.create_task(_leave_when_gone(call)))
            )
            try:
                await work()
            finally:
                later.cancel()
            for watch in watches:
                watch.cancel()
    except* DisconnectedError:
        raise DisconnectedError from None


async def _leave_when_gone(call: Call) -> None:
    await call.until_disconnect()
    raise DisconnectedError
