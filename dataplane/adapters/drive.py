"""Perform the effects that the core yields."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dataplane.adapters.stores.originals import Store
from dataplane.core.effects import Commit, Committed, Core, Effect, OpenTurn

T = TypeVar("T")
SHAPING_THREADS = 2  # more would only wait for each other: the work holds the interpreter


async def drive(core: Core[T], perform: Callable[[Effect], Awaitable[Any]]) -> T:
    """Run a core to its end; what it raises is raised here."""
    try:
        effect = next(core)
        while True:
            effect = core.send(await perform(effect))
    except StopIteration as done:
        result: T = done.value
        return result


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    """The end of a core: a StopIteration cannot travel through a future."""

    result: T


async def drive_apart(
    core: Core[T], perform: Callable[[Effect], Awaitable[Any]], threads: Executor
) -> T:
    """As drive, with the core's own work on another thread: streams go on being relayed.

    Effects are performed on the event loop, where everything that awaits belongs.
    """
    loop = asyncio.get_running_loop()
    answer: Any = None
    while True:
        step = await loop.run_in_executor(threads, _advanced, core, answer)
        if isinstance(step, _Done):
            return step.result
        answer = await perform(step)


def _advanced(core: Core[T], answer: Any) -> Effect | _Done[T]:
    try:
        effect: Effect = core.send(answer)
    except StopIteration as done:
        return _Done(done.value)
    return effect


class Driver:
    """Runs the cores of a process: a small body's on the event loop, a large one's beside it.

    inline_max: bytes up to which the hop to another thread costs more than it frees.
    """

    def __init__(self, *, inline_max: int) -> None:
        self._inline_max = inline_max
        self._threads = ThreadPoolExecutor(SHAPING_THREADS, "shaping")

    async def run(
        self, core: Core[T], perform: Callable[[Effect], Awaitable[Any]], *, size: int
    ) -> T:
        """The result of a core that works on a body of `size` bytes."""
        if size <= self._inline_max:
            return await drive(core, perform)
        return await drive_apart(core, perform, self._threads)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def performer(
    store: Store, committed: Callable[[float], None] = lambda _: None
) -> Callable[[Effect], Awaitable[Any]]:
    """Performs every effect of one request on a store.

    committed: told after each commit how long it took, in ms.
    """

    async def commit(effect: Commit) -> Committed:
        started = time.perf_counter()
        try:
            return await store.commit(effect)
        finally:
            committed((time.perf_counter() - started) * 1000)

    def perform(effect: Effect) -> Awaitable[Any]:
        if isinstance(effect, OpenTurn):
            return store.open_turn(effect)
        if isinstance(effect, Commit):
            return commit(effect)
        return store.recall(effect)

    return perform
