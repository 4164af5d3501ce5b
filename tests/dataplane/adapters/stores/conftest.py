"""The stores under test: one contract, every backend, and sqlite sealed as well."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dataplane.adapters.originals import Store
from dataplane.adapters.stores import MemoryStore, OffStore, SqliteStore
from dataplane.encryption import StoreEncryption
from tests.dataplane.adapters.stores.builders import LIMITS


def build(kind: str, state_dir: Path) -> Store:
    if kind == "memory":
        return MemoryStore(LIMITS)
    if kind != "off":
        encryption = StoreEncryption("k1", {"k1": bytes(32)}) if kind == "sealed" else None
        return SqliteStore(state_dir, limits=LIMITS, timeout_s=5.0, encryption=encryption)
    return OffStore()


@pytest.fixture(params=["memory", "sqlite", "sealed"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every backend that keeps anything."""
    built = build(request.param, tmp_path)
    await built.start()
    yield built
    await built.close()


@pytest.fixture(params=["memory", "sqlite", "sealed", "off"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    built = build(request.param, tmp_path)
    await built.start()
    yield built
    await built.close()
