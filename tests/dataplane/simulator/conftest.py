"""A simulated provider per test, on a loopback port of its own, and its real clients."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import anthropic
import openai
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


@pytest.fixture
async def claude(simulator: Simulator) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(
        base_url=simulator.url, api_key="sk-1", max_retries=0
    ) as made:
        yield made


@pytest.fixture
async def gpt(simulator: Simulator) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=f"{simulator.url}/v1", api_key="sk-1", max_retries=0
    ) as made:
        yield made
