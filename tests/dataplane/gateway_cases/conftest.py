"""A node per test, in front of a provider per test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dataplane.simulator import Simulator
from tests.dataplane.gateway_cases.living import ON, Life, Live
from tests.dataplane.gateway_cases.served import Serve, Served, serving
from tests.fakes.receiver import Receiver


@pytest.fixture
def serve(tmp_path: Path, simulator: Simulator) -> Serve:
    return serving(tmp_path, simulator)


@pytest.fixture
async def served(serve: Serve) -> AsyncIterator[Served]:
    """A node whose document masks every tool output."""
    async with serve() as running:
        yield running


@pytest.fixture
def live(serve: Serve) -> Live:
    @asynccontextmanager
    async def start(document: str = ON, **settings: Any) -> AsyncIterator[Life]:
        sink = settings.pop("sink", Receiver())
        async with serve(document, sink=sink, test_clock=True, **settings) as served:
            yield Life(served, sink)

    return start
