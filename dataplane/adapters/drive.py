"""Perform the effects that the core yields."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

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
