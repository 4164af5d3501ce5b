"""Perform the effects that the core yields."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dataplane.adapters.originals import Store
from dataplane.core.effects import Commit, Committed, Core, Effect, OpenTurn

T = TypeVar("T")


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
