"""What is measured, one function per line of the table (00-start-here.md 4)."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.core import resource
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.door.identity import digest_of
from dataplane.core.port.declaration import Kind
from dataplane.core.port.report import RunReport, StepReport
from dataplane.core.record import Record
from tools.bench import bodies, load
from tools.bench.editing import check_ms, documents_to_check, pages_ms
from tools.bench.processes import Server, free_port, running, uvicorn
from tools.bench.saving import embedded, save_to_acknowledged_ms

KEY = "cg_live_BENCHBENCHBENCHBENCHBENCHBE"
# A second tenant, whose provider is another process: what it is sent does not slow the first's.
BESIDE_KEY = "cg_live_BESIDEBESIDEBESIDEBESIDEBE"
Providers = dict[str, str]
OFF = "pipeline: []\n"
# Every output but the newest is offloaded, so that a warm turn replays a decision for each.
DETERMINISTIC = """\
pipeline: [dedup, format, mask, collapse]
components:
  mask: {keep_recent: 1, cold_cache: true}
cache: {mode: "off"}
"""
STREAMS, EVENTS, GAP_MS = 32, 200, 10
TENANTS = 1000


@dataclass(frozen=True)
class Row:
    """One line of the table. reached: None where the specification names no bound."""

    what: str
    value: str
    bound: str
    reached: bool | None


@dataclass
class Bench:
    """The servers of one run. gateways: by the document that they serve."""

    simulator: Server
    bare: Server
    off: Server
    shaping: Server


@contextmanager
def servers() -> Iterator[Bench]:
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        simulator, beside = (stack.enter_context(_provider()) for _ in range(2))
        port = free_port()
        bare = stack.enter_context(
            running(
                uvicorn("tools.bench.bare:application", port),
                port=port,
                path="/v1/models",
                env={"UPSTREAM": simulator.url},
            )
        )
        made = [
            stack.enter_context(
                _gateway(
                    Path(folder) / name, document, {KEY: simulator.url, BESIDE_KEY: beside.url}
                )
            )
            for name, document in (("off", OFF), ("shaping", DETERMINISTIC))
        ]
        yield Bench(simulator, bare, *made)


@contextmanager
def _provider() -> Iterator[Server]:
    port = free_port()
    arguments = ["-m", "dataplane.simulator", "--port", str(port)]
    with running(arguments, port=port, path="/v1/models") as server:
        yield server


@contextmanager
def _gateway(folder: Path, document: str, providers: Providers) -> Iterator[Server]:
    """A node with one document; providers: one tenant for each key, and its provider."""
    folder.mkdir(exist_ok=True)
    snapshot = folder / "snapshot.json"
    snapshot.write_bytes(resource.bundle(_resources(document, providers)))
    port = free_port()
    env = {"HEADRACE_SNAPSHOT": str(snapshot), "HEADRACE_STATE_DIR": str(folder / "state")}
    arguments = uvicorn("dataplane.asgi:application", port)
    with running(arguments, port=port, path="/healthz", env=env) as server:
        yield server


def _resources(document: str, providers: Providers) -> list[resource.Resource]:
    checked = check(document, context=Context(components()))
    assert checked.effective is not None, checked.problems  # noqa: S101
    effective = checked.effective
    values = msgspec.to_builtins(effective.document)
    variant = resource.Variant("v1", 1, effective.effective_hash, "base", effective.host, values)
    named: list[tuple[str, str, bytes]] = []
    upstreams = []
    shards: dict[str, list[tuple[str, str, str, str]]] = {}
    for key, url in providers.items():
        digest = digest_of(key.encode())
        name = f"ten_{digest[:12]}"
        upstreams.append(resource.Upstream(name, "anthropic", url))
        tenant = resource.TenantBody(
            name, name, name, {"anthropic": name}, [variant], store=values["store"]
        )
        entry = (digest, resource.TOKEN_KIND, name, "bench")
        shards.setdefault(digest[0], []).append(entry)
        named.append((resource.TENANT, name, resource.encode(tenant)))
    for shard, entries in shards.items():
        named.append((resource.AUTH_INDEX, shard, resource.encode(entries)))
    named.append((resource.NODE, "default", resource.encode(resource.NodeBody(upstreams))))
    return [
        resource.Resource(resource.Envelope(kind, name, 1, 1, resource.hash_of(body)), body)
        for kind, name, body in named
    ]


def headers(session: str = "bench", key: str = KEY) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": "sk-bench",
        "x-context-guru-token": key,
        "x-context-guru-session": session,
    }


async def streaming(bench: Bench) -> list[Row]:
    async def p99(server: Server) -> float:
        url = server.url + "/v1/messages"
        lags = await load.event_lags(url, headers(), streams=STREAMS, events=EVENTS, gap_ms=GAP_MS)
        return load.percentile(lags, 0.99)

    before = bench.off.rss_mib()
    pairs = [(await p99(bench.bare), await p99(bench.off)) for _ in range(3)]
    bare = statistics.median(pair[0] for pair in pairs)
    ours = statistics.median(pair[1] for pair in pairs)
    grown = bench.off.rss_mib() - before
    shape = f"{STREAMS} streams × {EVENTS} events"
    return [
        Row(f"bare proxy, {shape}: p99 event lag", f"{bare:.2f} ms", "", None),
        Row(f"{shape}: p99 event lag", f"{ours:.2f} ms", "≤ 2 × bare", ours <= 2 * bare),
        Row(f"{shape}, three times: memory grown", f"{grown:.1f} MiB", "", None),
    ]


async def _added_ms(bench: Bench, batch: list[tuple[bytes, dict[str, str]]]) -> list[float]:
    """What the gateway itself adds to each request, ms, as its counters have it."""
    url = bench.shaping.url
    found = []
    async with load.session() as client:
        for body, own in batch:
            before = await _stats(client, url)
            await load.post(client, url + "/v1/messages", body, own)
            after = await _stats(client, url)
            total = after["cg_added_ms_avg"] * after["requests"]
            found.append(total - before["cg_added_ms_avg"] * before["requests"])
    return found


async def _stats(client: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    async with client.get(url + "/stats", headers={"x-context-guru-token": KEY}) as answer:
        found: dict[str, Any] = await answer.json()
        return found


REPLAYS = (
    # outputs of 4800 characters, turns, and the bounds (ms) of the time added, p50 and p99
    (20, 40, 5, None),
    (200, 200, 25, 60),
    (1600, 8, None, None),
)


async def compaction(bench: Bench) -> list[Row]:
    rows, medians = [], []
    for outputs, turns, half, most in REPLAYS:
        body = bodies.agent_body(outputs=outputs, size=4800, seed=outputs)
        own = headers(f"replay-{outputs}")
        await _added_ms(bench, [(body, own)])
        added = await _added_ms(bench, [(body, own)] * turns)
        what = f"{len(body) / (1 << 20):.1f} MB, {outputs} outputs replayed: added"
        medians.append(statistics.median(added))
        rows.append(_bound(f"{what}, p50", medians[-1], half))
        if most is not None:
            rows.append(_bound(f"{what}, p99", load.percentile(added, 0.99), most))
    ratio = medians[2] / medians[1]
    rows.append(Row("8 times the body, added, p50", f"{ratio:.1f} ×", "≤ 10 ×", ratio <= 10))
    firsts = [
        (bodies.agent_body(outputs=200, size=4800, seed=seed), headers(f"first-{seed}"))
        for seed in range(20, 28)
    ]
    first = statistics.median(await _added_ms(bench, firsts))
    return [*rows, _bound("1 MB, 200 outputs at first sight: added, p50", first, 120)]


async def store_commits(bench: Bench) -> list[Row]:
    """64 sessions that each take a turn every 0.64 s, with a new original of about 12 KB.

    On a node of its own: what it says of its commits is about all that it ever made.
    """
    sessions = [
        [bodies.agent_body(outputs=turn, size=12_000, seed=1000 + number) for turn in range(2, 10)]
        for number in range(64)
    ]

    async def one(client: aiohttp.ClientSession, url: str, number: int) -> None:
        await asyncio.sleep(number * 0.01)
        for body in sessions[number]:
            await load.post(client, url + "/v1/messages", body, headers(f"commit-{number}"))
            await asyncio.sleep(0.64)

    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder,
        _gateway(Path(folder), DETERMINISTIC, {KEY: bench.simulator.url}) as node,
    ):
        async with load.session() as client:
            async with asyncio.TaskGroup() as group:
                for number in range(64):
                    group.create_task(one(client, node.url, number))
            p99 = (await _stats(client, node.url))["store"]["commit_ms_p99"]
    return [_bound("store commit before emit, 64 sessions, 100 turns/s: p99", p99, 10)]


async def telemetry(bench: Bench) -> list[Row]:
    """What counting one request costs the request path, in this process."""
    taken = []
    counted = Telemetry()
    for number in range(20_000):
        step = StepReport("mask", Kind.OFFLOAD, 5000, 4000, keys={f"{number:016x}": 1000})
        report = RunReport(5000, 4000, 5000, [step] * 5)
        record = Record("id", "ten", "messages", "anthropic", 0.0, report=report)
        started = time.perf_counter()
        counted.add(record)
        taken.append((time.perf_counter() - started) * 1000)
    p99 = load.percentile(taken, 0.99)
    return [Row("counting a request, 5 components: p99", f"{p99:.3f} ms", "< 1 ms", p99 < 1)]


async def saving(bench: Bench) -> list[Row]:
    with embedded() as where:
        taken = await save_to_acknowledged_ms(where, times=20)
    p95 = load.percentile(taken, 0.95)
    return [Row("save to acknowledged: p95 of 20", f"{p95:.0f} ms", "< 500 ms", p95 < 500)]


async def editing(bench: Bench) -> list[Row]:
    """What whoever writes a document waits for: the check in this process, pages over HTTP."""
    rows = []
    for what, source, bound in documents_to_check():
        p99 = load.percentile(check_ms(source, times=100), 0.99)
        rows.append(Row(f"{what}: CPU, p99 of 100", f"{p99:.1f} ms", f"< {bound} ms", p99 < bound))
    with embedded() as where:
        views, checks = await pages_ms(where, times=40)
    view, check = (load.percentile(taken, 0.5) for taken in (views, checks))
    rows += [
        Row("effective view of a tenant: p50 of 40", f"{view:.0f} ms", "< 150 ms", view < 150),
        Row("check and summary while typing, 400 lines: p50 of 40", f"{check:.0f} ms", "", None),
    ]
    return rows


async def many_tenants(bench: Bench) -> list[Row]:
    """A start from a bundle, then one in which the node has its last good state as well."""
    providers = {f"cg_live_{number:026d}": bench.simulator.url for number in range(TENANTS)}
    ready = 0.0
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        for _ in range(2):
            with _gateway(Path(folder), DETERMINISTIC, providers) as server:
                ready = max(ready, server.ready_after_s)
    return [
        Row(f"start to ready with {TENANTS} tenants", f"{ready:.2f} s", "≤ 5 s", ready <= 5),
    ]


async def at_rest(bench: Bench) -> list[Row]:
    await asyncio.sleep(0.2)
    ready = bench.off.ready_after_s
    memory = bench.off.rss_mib()
    return [
        Row("start to ready", f"{ready:.2f} s", "< 5 s", ready < 5),
        Row("resident memory after pass-through", f"{memory:.0f} MiB", "< 250 MiB", memory < 250),
    ]


def _bound(what: str, value: float, bound: float | None) -> Row:
    """value, bound: ms; None for no bound."""
    if bound is None:
        return Row(what, f"{value:.1f} ms", "", None)
    return Row(what, f"{value:.1f} ms", f"≤ {bound:g} ms", value <= bound)
