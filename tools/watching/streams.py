"""Two hundred open pages on one process, through a kill (04 §6.4 and 10.2)."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from dataplane.core.uplink import BUCKET_S
from tools.bench.load import percentile
from tools.bench.processes import Server, free_port
from tools.bench.scenarios import Row
from tools.watching import serving

CLIENTS, PER_PERSON = 200, 6
TOPIC = "component.mask"
MORE_MIB = 50
BUDGET_S = 2
PATIENCE_S = 60.0


@dataclass
class Reader:
    """One page. heard: by cursor, when it came. seen: requests, by the bucket they are in."""

    cookie: str
    heard: dict[int, float] = field(default_factory=dict)
    repeated: int = 0
    resyncs: int = 0
    seen: dict[int, int] = field(default_factory=dict)
    is_open: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, port: int) -> None:
        """Until the server ends it or dies; goes on from the cursor it has."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        resume = f"Last-Event-ID: {max(self.heard)}\r\n" if self.heard else ""
        writer.write(
            f"GET /live/stream?topics={TOPIC} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Cookie: {serving.COOKIE}={self.cookie}\r\n{resume}\r\n".encode()
        )
        kind, cursor = "", 0
        try:
            while line := await reader.readline():
                name, _, value = line.decode().strip().partition(": ")
                if name == "id":
                    cursor = int(value)
                elif name == "event":
                    kind = value
                elif name == "data":
                    self._take(kind, json.loads(value), cursor)
                    cursor = 0
        except OSError:
            return
        finally:
            writer.close()

    def _take(self, kind: str, said: dict[str, object], cursor: int) -> None:
        self.resyncs += kind == "resync"
        if kind == "hello":
            self.is_open.set()
        if kind == "bucket" and isinstance(data := said["data"], dict):
            self.seen[data["at"]] = sum(data["of"]["candidates"].values())
        if cursor and kind != "hello":
            self.repeated += cursor in self.heard
            self.heard.setdefault(cursor, time.perf_counter())


@dataclass
class Run:
    """The deployment under its readers. asked: requests so far; each raises one gate once."""

    folder: Path
    port: int
    key: str
    readers: list[Reader]
    asked: int = 0

    async def ask(self, client: aiohttp.ClientSession) -> None:
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
        headers = {"x-context-guru-token": self.key, "x-api-key": "sk-bench",
                   "anthropic-version": "2023-06-01"}  # fmt: skip
        url = f"http://127.0.0.1:{self.port}/anthropic/v1/messages"
        async with client.post(url, json=body, headers=headers) as answer:
            if answer.status != 200:
                raise RuntimeError(await answer.text())
        self.asked += 1

    async def opened(self, group: asyncio.TaskGroup) -> None:
        for reader in self.readers:
            reader.is_open = asyncio.Event()  # of this loop
            group.create_task(reader.read(self.port))
        async with asyncio.timeout(PATIENCE_S):
            for reader in self.readers:
                await reader.is_open.wait()

    async def settled(self) -> None:
        """Everybody has seen every request."""
        async with asyncio.timeout(PATIENCE_S):
            while any(sum(reader.seen.values()) < self.asked for reader in self.readers):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


def rows(seconds: int) -> list[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="headrace-streams-") as made,
        serving.provider() as provider,
    ):
        folder, port = Path(made), free_port()
        key = serving.tenant(folder, "orchid", provider.url)
        people = serving.cookies(folder, -(-CLIENTS // PER_PERSON))
        run = Run(folder, port, key, [Reader(people[n // PER_PERSON]) for n in range(CLIENTS)])
        with serving.served(folder, port) as server:
            found = asyncio.run(_before(run, server, seconds))
            server.process.kill()
            server.process.wait()
        with serving.served(folder, port):
            return [*found, *asyncio.run(_after(run))]


async def _before(run: Run, server: Server, seconds: int) -> list[Row]:
    """All of them open, one change a second."""
    async with aiohttp.ClientSession() as client, asyncio.TaskGroup() as group:
        await run.ask(client)
        await asyncio.sleep(BUCKET_S + 2)  # so that it is in no bucket that a reader is sent
        run.asked, at_rest = 0, server.rss_mib()
        await run.opened(group)
        cpu, delays = server.cpu_s(), []
        for _ in range(seconds):
            began = time.perf_counter()
            newest = max(run.readers[0].heard, default=0)
            await run.ask(client)
            await asyncio.sleep(max(0.0, began + 1.0 - time.perf_counter()))
            delays += [at - began for r in run.readers for c, at in r.heard.items() if c > newest]
        await run.settled()
        cpu, more = server.cpu_s() - cpu, server.rss_mib() - at_rest
        server.process.kill()
    cursors = {tuple(reader.heard) for reader in run.readers}
    counted, reached = len(run.readers[0].heard), percentile(delays, 0.99)
    name = f"{CLIENTS} streams, one change a second, {seconds} s"
    return [
        Row(
            f"{name}: different sequences among readers, of {counted} cursors",
            f"{len(cursors)}",
            "1",
            len(cursors) == 1,
        ),
        Row("the same: memory over rest", f"{more:.1f} MiB", f"< {MORE_MIB} MiB", more < MORE_MIB),
        Row(
            "the same: from sending a request to the change received, p99",
            f"{reached * 1000:.0f} ms",
            "< 2000 ms",
            reached < BUDGET_S,
        ),
        Row("the same: CPU of the server", f"{cpu / seconds:.0%} of a core", "", None),
    ]


async def _after(run: Run) -> list[Row]:
    """The server was killed and started; something happened before anybody was back."""
    async with aiohttp.ClientSession() as client:
        await run.ask(client)
        async with asyncio.TaskGroup() as group:
            began = time.perf_counter()
            await run.opened(group)
            await run.ask(client)
            await run.settled()
            took = time.perf_counter() - began
            for task in list(group._tasks):
                task.cancel()
    wrong = sum(sum(reader.seen.values()) != run.asked for reader in run.readers)
    repeated, resyncs = (sum(getattr(r, n) for r in run.readers) for n in ("repeated", "resyncs"))
    return [
        Row(
            "after kill -9 and a restart: readers with another total than was asked",
            f"{wrong} of {CLIENTS}",
            "0",
            wrong == 0,
        ),
        Row("the same: cursors received twice", f"{repeated}", "0", repeated == 0),
        Row("the same: told to read everything anew", f"{resyncs}", "0", resyncs == 0),
        Row("the same: everybody back and up to date after", f"{took:.1f} s", "", None),
    ]
