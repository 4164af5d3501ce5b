"""A durable store of a test's own, and what tests of it need to wait for or look at."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from dataplane.adapters.stores import SqliteStore
from dataplane.adapters.stores.originals import Store
from dataplane.adapters.stores.redis import RedisStore
from dataplane.adapters.stores.sqlite_file import store_path
from dataplane.core.effects import Scope
from tests.dataplane.adapters.stores.builders import ALICE, LIMITS, turn
from tests.patience import PATIENCE_S

LONG = "a long output line\n" * 400


@contextlib.asynccontextmanager
async def opened(state_dir: Path, timeout_s: float = PATIENCE_S) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(state_dir, limits=LIMITS, timeout_s=timeout_s)
    await store.start()
    yield store
    await store.close()


@contextlib.contextmanager
def impatient(store: SqliteStore | RedisStore, timeout_s: float = 0.2) -> Iterator[None]:
    """Commits are given up after that long, which outside of this would be luck."""
    store._timeout_s, before = timeout_s, store._timeout_s
    try:
        yield
    finally:
        store._timeout_s = before


def file_of(state_dir: Path) -> Path:
    return store_path(state_dir, "acme")


@contextlib.contextmanager
def locked(state_dir: Path) -> Iterator[None]:
    """Somebody else holds the write lock of the file."""
    with contextlib.closing(sqlite3.connect(file_of(state_dir), timeout=PATIENCE_S)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it holds; TimeoutError when it does not come true."""
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110  it is announced to nobody
            await asyncio.sleep(0.01)


async def is_available(store: Store, scope: Scope = ALICE) -> bool:
    return (await turn(store, scope=scope)).available


def found_below(directory: Path, pattern: str) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob(pattern))
