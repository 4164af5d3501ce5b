"""Ending what runs beside the requests."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_S = 0.5


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and return once none of them runs any more; what they raised is dropped.

    Asked again until it is heard: before Python 3.12 `asyncio.wait_for`, which libraries use, loses
    a cancellation that arrives together with its result.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)
