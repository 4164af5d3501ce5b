"""Load from this process: requests one after another, requests side by side, paced streams."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie; values must not be empty."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True)
class Timings:
    """Milliseconds per request, in order of completion."""

    ms: list[float]

    def at(self, share: float) -> float:
        return percentile(self.ms, share)


def session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=120)
    )


async def post(
    client: aiohttp.ClientSession, url: str, body: bytes, headers: dict[str, str]
) -> float:
    """One request to its last byte; milliseconds. Raises for an answer that is not 200."""
    started = time.perf_counter()
    async with client.post(url, data=body, headers=headers) as answer:
        await answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {await answer.text()}")
    return (time.perf_counter() - started) * 1000


async def requests(
    url: str, bodies: Sequence[tuple[bytes, dict[str, str]]], *, side_by_side: int
) -> Timings:
    """Send every body; at most `side_by_side` at a time."""
    waiting = list(reversed(bodies))
    taken: list[float] = []

    async def work(client: aiohttp.ClientSession) -> None:
        while waiting:
            body, headers = waiting.pop()
            taken.append(await post(client, url, body, headers))

    async with session() as client, asyncio.TaskGroup() as group:
        for _ in range(side_by_side):
            group.create_task(work(client))
    return Timings(taken)


async def event_lags(
    url: str, headers: dict[str, str], *, streams: int, events: int, gap_ms: int
) -> list[float]:
    """Lag of every streamed event, ms: how much later than its own pace it arrived.

    The first event of a stream sets the clock; event n is due n gaps later. Streams begin one
    after the other within a gap, or all events would be due at the same moments.
    """
    script = {"rounds": [{"events": events, "gap_ms": gap_ms}]}
    message = {"role": "user", "content": "Stream."}
    body = json.dumps(
        {"model": "claude-sonnet-5", "max_tokens": 9999, "stream": True, "messages": [message]}
    ).encode()
    lags: list[float] = []

    async def one(client: aiohttp.ClientSession, number: int) -> None:
        own = {
            **headers,
            "x-sim-script": json.dumps({"id": f"bench-{time.time_ns()}-{number}", **script}),
        }
        await asyncio.sleep(number * gap_ms / 1000 / streams)
        async with client.post(url, data=body, headers=own) as answer:
            arrivals = [
                time.perf_counter() async for line in answer.content if b'block_delta"' in line[:40]
            ]
        first = arrivals[0]
        lags.extend(
            max(0.0, (at - first) * 1000 - place * gap_ms) for place, at in enumerate(arrivals)
        )

    async with session() as client, asyncio.TaskGroup() as group:
        for number in range(streams):
            group.create_task(one(client, number))
    return lags
