"""Two hundred pages open on one server, through a restart (04 §6.4 and 10.2)."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from controlplane.live.hub import MOST_PER_PERSON
from tests.journeys.deployment import Deployment, deployment
from tests.patience import PATIENCE_S, until

CLIENTS = 200
ASKED = 6
MORE_MEMORY_KIB = 50 * 1024
TOPIC = "component.mask"


@dataclass
class Page:
    """A client that keeps what it was sent. cursors: in the order they came. counted: declines
    that it was told of up to the last of them.
    """

    session: str
    cursors: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    buckets: dict[int, int] = field(default_factory=dict)
    counted: int = 0
    is_open: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, port: int) -> None:
        """Until the server ends it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        resume = f"Last-Event-ID: {self.cursors[-1]}\r\n" if self.cursors else ""
        writer.write(
            f"GET /live/stream?topics={TOPIC} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Cookie: cg_session={self.session}\r\n{resume}\r\n".encode()
        )
        try:
            assert b"200" in await reader.readline()
            cursor = 0
            while line := await reader.readline():
                name, _, value = line.decode().strip().partition(": ")
                if name == "id":
                    cursor = int(value)
                elif name == "event":
                    self.kinds.append(value)
                elif name == "data":
                    self._take(json.loads(value), cursor)
                    cursor = 0
        except ConnectionResetError:
            return
        finally:
            writer.close()

    def _take(self, said: dict[str, object], cursor: int) -> None:
        if self.kinds[-1] == "bucket":
            data = said["data"]
            assert isinstance(data, dict)
            self.buckets[data["at"]] = sum(data["of"]["candidates"].values())
        if cursor:
            self.cursors.append(cursor)
            self.counted = sum(self.buckets.values())
        if self.kinds[-1] == "hello":
            self.is_open.set()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Deployment]:
    with deployment(tmp_path) as running:
        yield running


def memory_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


async def opened(pages: list[Page], port: int, group: asyncio.TaskGroup) -> None:
    for page in pages:
        page.is_open.clear()
        group.create_task(page.read(port))
    async with asyncio.timeout(PATIENCE_S):
        for page in pages:
            await page.is_open.wait()


async def settled(pages: list[Page], total: int) -> None:
    await until(lambda: all(page.counted >= total for page in pages), look_every_s=0.05)


async def test_two_hundred_pages_see_every_cursor_and_resume_after_the_server_was_killed(
    gateway: Deployment,
) -> None:
    people = -(-CLIENTS // MOST_PER_PERSON)
    sessions = await asyncio.to_thread(gateway.sessions, people)
    pages = [Page(sessions[n // MOST_PER_PERSON]) for n in range(CLIENTS)]
    await asyncio.to_thread(gateway.ask, "Warm up")
    await asyncio.to_thread(gateway.wait_for_reports, 1)
    before = memory_kib(gateway.pid)

    async with asyncio.TaskGroup() as group:
        await opened(pages, gateway.port, group)
        first = 1  # or with the warm-up, when that is in the same bucket
        for n in range(ASKED):  # each seen before the next: a slow page skips what is replaced
            await asyncio.to_thread(gateway.ask, f"Question {n}")
            await settled(pages, first + n)
            first = pages[0].counted - n
        more = memory_kib(gateway.pid) - before
        await asyncio.to_thread(gateway.end, signal.SIGKILL)

    assert len(pages[0].cursors) >= ASKED
    assert [page.cursors for page in pages] == [pages[0].cursors] * CLIENTS
    assert pages[0].cursors == sorted(set(pages[0].cursors))
    assert more < MORE_MEMORY_KIB

    await asyncio.to_thread(gateway.start)
    await asyncio.to_thread(gateway.ask, "While nobody looked")
    seen = sum(pages[0].buckets.values())
    async with asyncio.TaskGroup() as group:
        await opened(pages, gateway.port, group)
        await asyncio.to_thread(gateway.ask, "And now")
        await settled(pages, seen + 2)
        await asyncio.to_thread(gateway.end)

    assert {sum(page.buckets.values()) for page in pages} == {seen + 2}
    assert all("resync" not in page.kinds for page in pages)
    assert all(page.kinds[-1] == "bye" for page in pages)


async def test_case_w_36_each_live_event_is_readable_before_the_next_one_is_made(
    gateway: Deployment,
) -> None:
    """The browser would take it compressed; whoever compresses collects."""
    session = (await asyncio.to_thread(gateway.sessions, 1))[0]
    await asyncio.to_thread(gateway.ask, "Warm up")
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(
        f"GET /live/stream?topics={TOPIC} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Accept-Encoding: gzip, deflate, br\r\nCookie: cg_session={session}\r\n\r\n".encode()
    )
    async with asyncio.timeout(PATIENCE_S):
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readuntil(b"event: hello")

    for n in range(3):
        await asyncio.to_thread(gateway.ask, f"Question {n}")
        async with asyncio.timeout(PATIENCE_S):
            await reader.readuntil(b"event: bucket")
    writer.close()

    assert b"transfer-encoding: chunked" in head
    assert b"content-encoding" not in head
    assert b"content-length" not in head
