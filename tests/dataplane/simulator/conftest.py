"""A simulated provider per test, on a loopback port of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from dataplane.simulator import Simulator


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator() as started:
        yield started


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session
