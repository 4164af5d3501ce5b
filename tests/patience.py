"""How long a test waits for what must come: so long that no busy machine makes one fail.

A wait ends as soon as it may, so patience costs nothing where the product does what it should.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 60.0
PATIENCE_MS = 60_000


async def until(holds: Callable[[], bool], *, look_every_s: float = 0.005) -> None:
    """Look until it holds; TimeoutError when it does not come true."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110  it is announced to nobody
            await asyncio.sleep(look_every_s)


def blocking_until(holds: Callable[[], bool], *, look_every_s: float = 0.05) -> None:
    """The same where there is no event loop."""
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > until_s:
            raise TimeoutError
        time.sleep(look_every_s)
