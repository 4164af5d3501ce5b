"""A node per test, in front of a provider per test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dataplane.simulator import Simulator
from tests.dataplane.gateway_cases.served import Serve, Served, serving


@pytest.fixture
def serve(tmp_path: Path, simulator: Simulator) -> Serve:
    return serving(tmp_path, simulator)


@pytest.fixture
async def served(serve: Serve) -> AsyncIterator[Served]:
    """A node whose document masks every tool output."""
    async with serve() as running:
        yield running
