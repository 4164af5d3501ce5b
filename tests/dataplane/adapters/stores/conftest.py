"""The stores under test: one contract, every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dataplane.adapters.originals import Store
from dataplane.adapters.stores import MemoryStore, OffStore, SqliteStore
from tests.dataplane.adapters.stores.builders import LIMITS


def build(kind: str, state_dir: Path) -> Store:
    if kind == "memory":
        return MemoryStore(LIMITS)
    if kind == "sqlite":
        return SqliteStore(state_dir, limits=LIMITS, timeout_s=5.0)
    return OffStore()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every backend that keeps anything."""
    built = build(request.param, tmp_path)
    await built.start()
    yield built
    await built.close()


@pytest.fixture(params=["memory", "sqlite", "off"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    built = build(request.param, tmp_path)
    await built.start()
    yield built
    await built.close()
