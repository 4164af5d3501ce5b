"""How many finished requests one process can report, and what offering one costs its request.

The real uplink, the real writer and a real SQLite file in one process, as they are embedded; only
the requests are invented, so that the rate is exact.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

import psutil
from asgiref.sync import sync_to_async
from django.db.models import Sum

from controlplane.telemetry.models import RequestRecord, TelemetryGap, TrafficBucket
from controlplane.telemetry.writer import Writer
from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.adapters.figures.uplink import Uplink
from dataplane.core.components import components
from dataplane.core.port.declaration import Kind
from dataplane.core.port.report import RunReport, StepReport
from dataplane.core.record import Record
from dataplane.core.wire.usage import Usage
from tools.bench.load import percentile
from tools.bench.scenarios import Row

COMPONENT_ROWS = 10
TENANTS, SESSIONS = 20, 400
TICK_S = 0.005


class TimedUplink(Uplink):
    """taken: ms of every put."""

    taken: list[float]

    def offer(self, record: Record) -> bool:
        started = time.perf_counter()
        accepted = super().offer(record)
        self.taken.append((time.perf_counter() - started) * 1000)
        return accepted


@dataclass
class Stored:
    """What the database holds of a run. behind_s: from the last put to the last row."""

    rows: int
    runs: int
    counted: int
    gaps: int
    behind_s: float = 0.0
    cpu_ms: float = 0.0
    puts: list[float] = field(default_factory=list)


def finished(number: int) -> Record:
    """A request that ten components looked at; three of them removed something."""
    names = [*components(), *(f"component_{n}" for n in range(COMPONENT_ROWS))][:COMPONENT_ROWS]
    steps = [_step(name, place, number) for place, name in enumerate(names)]
    return Record(
        request_id=f"W{number:025}",
        tenant=f"ten_{number % TENANTS:024}",
        route="messages",
        dialect="anthropic",
        at=time.time(),
        session=f"session-{number % SESSIONS}",
        model="claude-sonnet-5",
        status=200,
        report=RunReport(9000, 6000, 8000, steps),
        added_ms=3.0 + number % 7,
        upstream_ms=120.0 + number % 90,
        first_byte_ms=4.0,
        serve_ms=900.0,
        streamed=True,
        rounds=1,
        usage=Usage(fresh_input=40, cache_read=5000, cache_write=900, output=210),
        cost_usd=Decimal("0.008325"),
    )


def _step(name: str, place: int, number: int) -> StepReport:
    if place % 3:
        gates = Counter({"below_min_tokens": 3, "cached_prefix": 1 + number % 4})
        return StepReport(name, Kind.OFFLOAD, 9000, 9000, duration_ms=0.2, gates=gates)
    keys = {f"{number:012x}{place:04x}": 700}
    return StepReport(name, Kind.OFFLOAD, 9000, 8300, duration_ms=1.4, keys=keys, fresh_saved=700)


async def run(*, per_s: int, seconds: int) -> Stored:
    """Offer that many requests a second for so long, then wait until all is stored."""
    before = await sync_to_async(stored)()
    writer = Writer()
    uplink = TimedUplink((f"watching-{per_s}", f"boot-{time.time_ns()}"), writer)
    uplink.taken = []
    telemetry = Telemetry(uplink)
    process = psutil.Process()
    cpu = sum(process.cpu_times()[:2])
    uplink.start()
    await _offer(telemetry, per_s=per_s, count=per_s * seconds)
    ended = time.perf_counter()
    await uplink.flush()
    behind_s = time.perf_counter() - ended
    cpu = sum(process.cpu_times()[:2]) - cpu
    await uplink.stop()
    await asyncio.to_thread(writer.close)
    after = await sync_to_async(stored)()
    return Stored(
        after.rows - before.rows,
        after.runs - before.runs,
        after.counted - before.counted,
        after.gaps - before.gaps,
        behind_s,
        cpu / (per_s * seconds) * 1000,
        uplink.taken,
    )


async def _offer(telemetry: Telemetry, *, per_s: int, count: int) -> None:
    """At an even rate; what one tick came too late for is made up by the next."""
    started, done = time.perf_counter(), 0
    first = time.time_ns() % 10**12 * 1000
    while done < count:
        due = min(count, int((time.perf_counter() - started) * per_s) + 1)
        for number in range(done, due):
            telemetry.add(finished(first + number))
        done = due
        await asyncio.sleep(TICK_S)


def stored() -> Stored:
    counted = TrafficBucket.objects.filter(resolution_s=86_400).aggregate(n=Sum("requests"))["n"]
    return Stored(
        RequestRecord.objects.count(),
        sum(len(runs) for runs in RequestRecord.objects.values_list("runs", flat=True)),
        counted or 0,
        TelemetryGap.objects.count(),
    )


async def rows(*, per_s: int, seconds: int, keeps_rows: bool) -> list[Row]:
    """keeps_rows: whether rows may not be dropped at this rate; counters never may."""
    sent = per_s * seconds
    found = await run(per_s=per_s, seconds=seconds)
    put = percentile(found.puts, 0.99)
    name = f"{per_s} requests/s, {COMPONENT_ROWS} component rows each, {seconds} s"
    lost_rows, lost_counts = sent - found.rows, sent - found.counted
    runs_kept = found.runs == found.rows * COMPONENT_ROWS
    return [
        Row(
            f"{name}: request rows lost",
            f"{lost_rows:,} of {sent:,}",
            "0" if keeps_rows else "",
            lost_rows == 0 and runs_kept if keeps_rows else None,
        ),
        Row(f"{name}: requests not counted", f"{lost_counts:,}", "0", lost_counts == 0),
        Row("the same: put into the queue, p99", f"{put:.3f} ms", "< 1 ms", put < 1),
        Row("the same: stored after the last request", f"{found.behind_s:.1f} s", "", None),
        Row("the same: CPU per request, counting and storing", f"{found.cpu_ms:.2f} ms", "", None),
    ]
