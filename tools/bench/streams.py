"""Many streams, and streams beside large bodies."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from tools.bench import bodies, load
from tools.bench.scenarios import BESIDE_KEY, Bench, Row, headers

EVENTS = 200
ONE_RESULT_BYTES, ONE_RESULT_GAP_MS = 31 << 20, 100


class Beside(NamedTuple):
    """Streams with an event every gap_ms, and bodies of so many MB with a pause after each.

    bound: what the lag of an event (p99, ms) must stay below, None for no bound.
    """

    streams: int
    gap_ms: int
    megabytes: int
    pause_s: float = 0.1
    bound: int | None = None


BESIDE = (
    Beside(16, 20, 0),
    Beside(16, 20, 1, bound=20),
    Beside(16, 20, 8),
    Beside(200, 200, 0),
    Beside(200, 200, 30, pause_s=1, bound=20),
)


async def beside_large_bodies(bench: Bench) -> list[Row]:
    """Event lag of streams while large bodies are compacted in the same process."""
    return [await _beside(bench.shaping.url + "/v1/messages", shape) for shape in BESIDE]


async def _beside(url: str, shape: Beside) -> Row:
    body = bodies.agent_body(outputs=200 * shape.megabytes, size=4800, seed=shape.megabytes)
    own = headers(f"beside-{shape.megabytes}", BESIDE_KEY)
    async with load.session() as client:
        await load.post(client, url, body, own)
    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        large = group.create_task(_again_and_again(url, body, own, done, shape.pause_s))
        events = EVENTS * BESIDE[0].gap_ms // shape.gap_ms
        lags = await load.event_lags(
            url, headers("lag"), streams=shape.streams, events=events, gap_ms=shape.gap_ms
        )
        done.set()
    p99 = load.percentile(lags, 0.99)
    sent = f"{large.result()} bodies of {shape.megabytes} MB" if shape.megabytes else "no bodies"
    return Row(
        f"{shape.streams} streams beside {sent}: p99 event lag",
        f"{p99:.1f} ms",
        f"< {shape.bound} ms" if shape.bound else "",
        p99 < shape.bound if shape.bound else None,
    )


async def beside_one_result(bench: Bench) -> list[Row]:
    """The longest silence of streams while one body of one tool output is shaped."""
    url, pause_ms, streams = bench.shaping.url + "/v1/messages", 20, 20
    body = bodies.one_result_body(ONE_RESULT_BYTES)
    async with load.session() as client, asyncio.TaskGroup() as group:
        running = group.create_task(
            load.event_lags(
                url, headers("one-result"), streams=streams, events=EVENTS, gap_ms=pause_ms
            )
        )
        await asyncio.sleep(EVENTS * pause_ms / 4000)
        await load.post(client, url, body, headers("one-result", BESIDE_KEY))
    longest = max(running.result()) + pause_ms
    what = f"{streams} streams beside one body of {len(body) >> 20} MB, one result: longest gap"
    return [Row(what, f"{longest:.0f} ms", "≤ 100 ms", longest <= ONE_RESULT_GAP_MS)]


async def _again_and_again(
    url: str, body: bytes, own: dict[str, str], done: asyncio.Event, pause_s: float
) -> int:
    """Send the body until the streams are through, with the pauses of an agent; how often."""
    sent = 0
    async with load.session() as client:
        while not done.is_set():
            await load.post(client, url, body, own)
            sent += 1
            await asyncio.sleep(pause_s)
    return sent


async def many_streams(bench: Bench) -> list[Row]:
    """Memory of 256 streams at once, over rest."""
    rest = bench.off.rss_mib()
    url = bench.off.url + "/v1/messages"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            load.event_lags(url, headers("many"), streams=256, events=100, gap_ms=50)
        )
        peak = rest
        while not running.done():
            peak = max(peak, bench.off.rss_mib())
            await asyncio.sleep(0.2)
    grown = peak - rest
    return [
        Row("256 streams: memory over rest", f"{grown:.0f} MiB", "< 150 MiB", grown < 150),
    ]
