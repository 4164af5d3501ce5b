"""What a process reports besides requests: its end, what it serves, who used a credential."""

from __future__ import annotations

from dataplane.adapters.figures import uplink as uplinks
from dataplane.adapters.figures.arrivals import Arrivals
from dataplane.adapters.figures.uplink import Seen, Uplink
from dataplane.core import uplink as wire
from dataplane.core.record import Record
from dataplane.core.resource import Ack
from tests.dataplane.adapters.figures.test_uplink import NOW, record, reporting
from tests.fakes.receiver import Receiver


async def test_who_ends_in_good_order_says_so_last_and_once() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)
    link.start()
    telemetry.add(record())

    await link.stop()

    assert [batch.is_last for batch in sink.batches][-1:] == [True]
    assert sum(batch.is_last for batch in sink.batches) == 1
    assert sum(len(batch.rows) for batch in sink.batches) == 1


async def test_what_a_node_serves_from_its_bundle_is_said_and_said_again() -> None:
    sink, now = Receiver(), [NOW]
    link = Uplink(("node-a", "boot-1"), sink, clock=lambda: now[0])
    refused = {"code": "config.unknown_key", "message": "msk is no component"}
    link.answer(
        [Ack("node-a", "boot-1", "cg.tenant.v1", "ten_a", 1, 4, "sha256:0", "nack", (1, 3),
             [refused])]
    )  # fmt: skip

    for later in (0, uplinks.HEARTBEAT_S, uplinks.ANSWERS_EVERY_S):
        now[0] = NOW + later
        await link.flush()

    told = [[(a.name, a.version, a.status, a.errors) for a in b.answers] for b in sink.batches]
    assert told == [[("ten_a", 4, "nack", [refused])], [], [("ten_a", 4, "nack", [refused])]]


async def test_uses_of_credentials_and_gauges_come_with_the_next_report() -> None:
    sink, arrivals = Receiver(), Arrivals()
    seen = Seen(arrivals.take_used, lambda: {"inflight": 2})
    _, link = reporting(sink, seen=seen)
    for at in (10.0, 20.0):
        arrivals.add("prn_a", Record("r", "ten_a", "messages", "anthropic", at, "s1", "", "m"))

    await link.flush()

    (batch,) = sink.batches
    assert batch.gauges == {"inflight": 2}
    assert batch.uses == [wire.UseRow("prn_a", "ten_a", 10_000, 20_000, "s1", "m", 0)]


async def test_means_are_reported_as_what_a_mean_over_several_processes_is_made_of() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)
    for first_byte_ms in (100.0, 300.0):
        telemetry.add(record(streamed=True, upstream_ms=10.0, first_byte_ms=first_byte_ms))

    await link.flush()

    ((delta,),) = [batch.deltas for batch in sink.batches]
    assert (delta.counts["sse_ttfb_ms_sum"], delta.counts["sse_ttfb_ms_n"]) == (420, 2)
