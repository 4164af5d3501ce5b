"""Many streams, and streams beside large bodies."""

from __future__ import annotations

import asyncio

from tools.bench import bodies, load
from tools.bench.scenarios import BESIDE_KEY, Bench, Row, headers

EVENTS, GAP_MS = 200, 20


async def beside_large_bodies(bench: Bench) -> list[Row]:
    """Event lag of 16 streams while 1 MB and 8 MB bodies are compacted in the same process."""
    url = bench.shaping.url + "/v1/messages"
    rows = []
    for megabytes, bound in ((0, None), (1, 20), (8, None)):
        body = bodies.agent_body(outputs=200 * megabytes, size=4800, seed=megabytes)
        own = headers(f"beside-{megabytes}", BESIDE_KEY)
        async with load.session() as client:
            await load.post(client, url, body, own)
        done = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            large = group.create_task(_again_and_again(url, body, own, done))
            lags = await load.event_lags(
                url, headers("lag"), streams=16, events=EVENTS, gap_ms=GAP_MS
            )
            done.set()
        p99 = load.percentile(lags, 0.99)
        beside = f"{large.result()} bodies of {megabytes} MB" if megabytes else "no bodies"
        rows.append(
            Row(
                f"16 streams beside {beside}: p99 event lag",
                f"{p99:.1f} ms",
                f"< {bound} ms" if bound else "",
                p99 < bound if bound else None,
            )
        )
    return rows


async def _again_and_again(url: str, body: bytes, own: dict[str, str], done: asyncio.Event) -> int:
    """Send the body until the streams are through, with the pauses of an agent; how often."""
    sent = 0
    async with load.session() as client:
        while not done.is_set():
            await load.post(client, url, body, own)
            sent += 1
            await asyncio.sleep(0.1)
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
