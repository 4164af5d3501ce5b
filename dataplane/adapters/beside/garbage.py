"""When the interpreter goes through everything that lives to find garbage: by the clock.

Left to itself it does so when many objects were made, which is in the middle of a large body, and
again before that is done; every stream of the process waits meanwhile. What a node has loaded when
it starts never goes, so it is not looked at again. Young objects are looked at as ever.
"""

from __future__ import annotations

import asyncio
import functools
import gc

EVERY_S = 30.0
_USUAL = gc.get_threshold()
_BY_THE_CLOCK = (*_USUAL[:2], 1_000_000)


@functools.cache
def _freeze_once() -> None:
    gc.collect()
    gc.freeze()


class Garbage:
    """The schedule of one process, between start and stop; used on the event loop only."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        _freeze_once()
        gc.set_threshold(*_BY_THE_CLOCK)
        self._collect_later()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            gc.set_threshold(*_USUAL)

    def _collect_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._collect)

    def _collect(self) -> None:
        gc.collect()
        self._collect_later()
