"""A durable store of a test's own, and what tests of it need to wait for or look at."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from dataplane.adapters.originals import Store
from dataplane.adapters.stores import SqliteStore
from dataplane.adapters.stores.sqlite_file import store_path
from dataplane.core.effects import Scope
from tests.dataplane.adapters.stores.builders import ALICE, LIMITS, turn

LONG = "a long output line\n" * 400


@contextlib.asynccontextmanager
async def opened(state_dir: Path, timeout_s: float = 5.0) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(state_dir, limits=LIMITS, timeout_s=timeout_s)
    await store.start()
    yield store
    await store.close()


def file_of(state_dir: Path) -> Path:
    return store_path(state_dir, "acme")


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it holds; fails when it does not come true."""
    for _ in range(1000):
        if await condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("did not happen")


async def is_available(store: Store, scope: Scope = ALICE) -> bool:
    return (await turn(store, scope=scope)).available


def found_below(directory: Path, pattern: str) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob(pattern))
