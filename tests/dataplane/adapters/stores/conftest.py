"""The stores under test: one contract, every backend, the durable ones sealed as well."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dataplane.adapters.stores import MemoryStore, OffStore, SqliteStore
from dataplane.adapters.stores.originals import Store
from dataplane.adapters.stores.redis import RedisStore
from dataplane.encryption import StoreEncryption
from dataplane.settings import SharedStore
from tests.dataplane.adapters.stores.builders import LIMITS
from tests.patience import PATIENCE_MS, PATIENCE_S
from tests.servers import RedisServer, redis_server

KINDS = ["memory", "sqlite", "sqlite sealed", "redis", "redis sealed"]


def build(request: pytest.FixtureRequest, state_dir: Path) -> Store:
    kind, _, sealed = request.param.partition(" ")
    encryption = StoreEncryption("k1", {"k1": bytes(32)}) if sealed else None
    if kind == "memory":
        return MemoryStore(LIMITS)
    if kind == "sqlite":
        return SqliteStore(state_dir, limits=LIMITS, timeout_s=PATIENCE_S, encryption=encryption)
    if kind == "redis":
        place = SharedStore(request.getfixturevalue("redis_url"), commit_timeout_ms=PATIENCE_MS)
        return RedisStore(place, limits=LIMITS, encryption=encryption)
    return OffStore()


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every backend that keeps anything."""
    built = build(request, tmp_path)
    await built.start()
    yield built
    await built.close()


@pytest.fixture(params=[*KINDS, "off"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    built = build(request, tmp_path)
    await built.start()
    yield built
    await built.close()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that the test may kill."""
    with redis_server(tmp_path) as server:
        yield server
