"""A client that does not read holds back its provider (03-proxy-and-recovery.md 10.7 (108))."""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from dataplane.core.expand.stream_anthropic import BROKEN_OFF
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.core.expand.scripts import event
from tests.dataplane.gateway import gateway, tenants
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL
from tests.patience import PATIENCE_S

PIECE = event("ping", padding="d" * 1000) * 60
TOTAL = (50 << 20) // len(PIECE) * len(PIECE)


@contextlib.asynccontextmanager
async def flood(written: list[int]) -> AsyncIterator[str]:
    """A provider that sends 50 MiB of event stream as fast as it is taken from it."""

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        writer.write(b"content-length: %d\r\n\r\n" % TOTAL)
        with contextlib.suppress(ConnectionError):
            while written[0] < TOTAL:
                writer.write(PIECE)
                await writer.drain()
                written[0] += len(PIECE)
        writer.close()

    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-108")])
async def test_a_client_that_does_not_read_holds_back_the_provider_and_not_the_node(
    tmp_path: Path, _: None
) -> None:
    written = [0]
    async with (
        flood(written) as url,
        gateway(tmp_path, tenants(MASK_ALL), url) as running,
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        tracemalloc.start()
        body = anthropic_body(tools=(), stream=True)  # without tools nothing is kept for a splice
        request = http.stream("POST", f"{running.url}/v1/messages", content=body, headers=AGENT)
        async with request as answer:
            before = tracemalloc.get_traced_memory()[0]
            stalled_at = await stalled(written)
            held = tracemalloc.get_traced_memory()[0] - before
            tracemalloc.stop()
            got = 0
            async for chunk in answer.aiter_raw():
                got += len(chunk)

    assert stalled_at < TOTAL
    assert held < 2 << 20
    assert got == TOTAL + len(BROKEN_OFF)  # the flood has no end of its own


async def stalled(written: list[int]) -> int:
    """How much was written once nothing moves any more."""
    seen = -1
    while seen != written[0]:
        seen = written[0]
        await asyncio.sleep(0.3)
    return seen
