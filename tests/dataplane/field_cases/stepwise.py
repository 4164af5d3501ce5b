"""A provider that writes the next chunk of its stream only when it is told to.

Whoever sits between it and the client and waits for more than it has waits for ever, so that a
test shows without a clock whether bytes are passed on as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from dataplane.simulator.server import Recorded
from tests.dataplane.field_cases.casefile import Told


class Stepwise:
    """url: where it listens. requests: what it got. The first chunk needs no step."""

    def __init__(self, told: Told) -> None:
        self.url = ""
        self.requests: list[Recorded] = []
        self._told = told
        self._steps = asyncio.Semaphore(1)

    def step(self) -> None:
        """Let one more chunk go out."""
        self._steps.release()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await _read(reader))
        writer.write(_head(self._told))
        for chunk in self._told.chunks:
            await self._steps.acquire()
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def stepwise(told: Told) -> AsyncIterator[Stepwise]:
    """Serve on a free loopback port until the block is left."""
    provider = Stepwise(told)
    async with await asyncio.start_server(provider.serve, "127.0.0.1", 0) as server:
        provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield provider


async def _read(reader: asyncio.StreamReader) -> Recorded:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).strip().split(b"\r\n")
    method, path, _ = first.decode().split(" ")
    headers = tuple((n, v) for n, _, v in (line.partition(b": ") for line in lines))
    recorded = Recorded(0, method, path, headers, b"", time.time())
    recorded.body = await reader.readexactly(int(recorded.header("content-length") or 0))
    return recorded


def _head(told: Told) -> bytes:
    lines = [f"HTTP/1.1 {told.status} OK", "transfer-encoding: chunked", "connection: close"]
    lines += [f"{name}: {value}" for name, value in told.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()
