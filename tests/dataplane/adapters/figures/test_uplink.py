"""A node's reports: nothing waits for them, nothing is said twice, and counters are never lost."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from dataplane.adapters.figures import uplink as uplinks
from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.adapters.figures.uplink import Uplink
from dataplane.core import uplink as wire
from dataplane.core.expand.recovery import Missed, Recoveries
from dataplane.core.pipeline.rewritten import TEXTS_MAX, Rewritten
from dataplane.core.port.declaration import Kind
from dataplane.core.port.report import RunReport, StepReport
from dataplane.core.record import Record
from dataplane.core.spread import SLOTS, quantile_ms, slot_of
from dataplane.core.text.content import Content
from dataplane.core.uplink import RejectedError
from dataplane.core.wire.usage import Usage
from tests.fakes.receiver import Receiver

NOW = 1_800_000_005.0
ROW: dict[str, Any] = {"request_id": "R1", "at": 5, "route": "messages", "provider": "anthropic"}


class Stored:
    """The counters of a store, which only ever grow."""

    def __init__(self) -> None:
        self.refused = 0

    def __call__(self, tenant: str) -> dict[str, int]:
        return {"stash_refused": self.refused}


def reporting(sink: Receiver, **more: object) -> tuple[Telemetry, Uplink]:
    link = Uplink(("node-a", "boot-1"), sink, clock=lambda: NOW, **more)  # type: ignore[arg-type]
    return Telemetry(link), link


def record(number: int = 0, *, tenant: str = "ten_orchid", **more: object) -> Record:
    """A request on which mask removed one output and declined three, on two gates."""
    step = StepReport(
        "mask",
        Kind.OFFLOAD,
        1000,
        600,
        duration_ms=2.0,
        keys={"91c9568c40c8d8d1": 400},
        gates=Counter({"cached_prefix": 2, "below_min_tokens": 1}),
        fresh_saved=400,
    )
    fields: dict[str, object] = {
        "at": NOW,
        "session": "s1",
        "model": "claude",
        "status": 200,
        "report": RunReport(1000, 600, 900, [step]),
        "usage": Usage(fresh_input=10, cache_read=20, output=5),
        "cost_usd": Decimal("0.004900"),
        "added_ms": 3.0,
        **more,
    }
    return Record(f"R{number}", tenant, "messages", "anthropic", **fields)  # type: ignore[arg-type]


async def test_a_finished_request_is_one_row_and_moves_the_counters() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    telemetry.add(record())
    await link.flush()

    (batch,) = sink.batches
    (row,), (delta,) = batch.rows, batch.deltas
    assert (batch.node_id, batch.boot_id, batch.seq, batch.claimed) == ("node-a", "boot-1", 1, 1)
    assert (row.session, row.tokens_before, row.tokens_after, row.cost_usd) == (
        "s1", 1000, 600, "0.004900",
    )  # fmt: skip
    assert row.minted == [wire.MarkerRow("91c9568c40c8d8d1", "mask", 400)]
    assert delta.counts["requests"] == 1
    assert delta.bucket_at == 1_800_000_000_000


async def test_candidates_and_requests_of_a_gate_are_counted_apart() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    telemetry.add(record())
    telemetry.add(record(1))
    await link.flush()

    mask = sink.batches[0].deltas[0].components["mask"]
    assert mask.gates == {"cached_prefix": 4, "below_min_tokens": 2}
    assert mask.gate_requests == {"cached_prefix": 2, "below_min_tokens": 2}


async def test_a_marker_that_is_replayed_is_reported_once() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    telemetry.add(record(0))
    telemetry.add(record(1))
    await link.flush()

    assert [len(row.minted) for row in sink.rows] == [1, 0]


async def test_a_recovery_that_failed_names_its_marker_and_its_cause() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)
    recoveries = Recoveries(
        unresolved=Counter({"expired": 1}), missed=[Missed("91c9568c40c8d8d1", "expired")]
    )

    telemetry.add(record(recoveries=recoveries))
    await link.flush()

    assert sink.rows[0].recoveries == [wire.RecoveryRow("91c9568c40c8d8d1", "expired")]
    assert sink.batches[0].deltas[0].unresolved == {"expired": 1}


async def test_a_full_queue_drops_rows_and_says_so_but_keeps_every_counter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # 08 §D-12
    monkeypatch.setattr(uplinks, "QUEUE_MAX", 10)
    sink = Receiver()
    telemetry, link = reporting(sink)

    for number in range(500):
        telemetry.add(record(number))
    await link.flush()

    assert len(sink.rows) == 10
    assert sum(batch.dropped for batch in sink.batches) == 490
    assert sink.counted("all_requests") == 500
    assert telemetry.process.counts["telemetry_dropped"] == 490


@pytest.mark.parametrize(
    "odd",
    [{"session": "\ud800"}, {"at": math.nan}, {"at": math.inf}, {"status": "\ud800"}],
    ids=str,
)
async def test_a_row_that_cannot_be_written_is_dropped_alone(odd: dict[str, Any]) -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    for each in (record(1), record(2, **odd), record(3)):
        telemetry.add(each)
    await link.flush()

    assert [row.request_id for row in sink.rows] == ["R1", "R3"]
    assert [batch.dropped for batch in sink.batches] == [1]
    assert sink.counted("all_requests") == 3


async def test_counters_that_cannot_be_written_stop_no_report() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    telemetry.add(record(1, tenant="ten_\ud800"))
    telemetry.add(record(2))
    await link.flush()

    assert [row.request_id for row in sink.rows] == ["R2"]
    assert sink.counted("all_requests") == 1
    assert sum(batch.dropped for batch in sink.batches) == 2


@pytest.mark.parametrize("odd", [{"fresh_input": 2**70}, {"at": -1}, {"added_ms": 1e300}], ids=str)
def test_a_row_past_its_bounds_is_left_out_alone(odd: dict[str, Any]) -> None:
    rows = [wire.RequestRow(**{**ROW, **more}) for more in ({}, odd, {})]
    deltas = [wire.Delta(5), wire.Delta(10**15), wire.Delta(6, counts={"requests": 2**64})]
    body = msgspec.json.encode(wire.Batch("a", "b", 1, 5, rows=rows, deltas=deltas))

    found = wire.decode(body)

    assert (found.rows, found.deltas, found.refused) == ([rows[0], rows[2]], deltas[:1], 3)


@pytest.mark.parametrize("odd", ["1", '{"at":"five"}', "null", '{"tenant":[]}', '{"at":1e999}'])
def test_what_is_no_row_at_all_is_left_out_alone(odd: str) -> None:
    row = msgspec.json.encode(wire.RequestRow(**ROW)).decode()
    body = f'{{"node_id":"a","boot_id":"b","seq":1,"sent_at":5,"rows":[{row},{odd}]}}'

    assert wire.decode(body.encode()).refused == 1


async def test_ten_thousand_tenants_are_each_counted_in_batches_that_fit() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    for number in range(10_000):
        telemetry.add(record(number, tenant=f"ten_{number:05}"))
    await link.flush()

    counted = Counter(delta.tenant for batch in sink.batches for delta in batch.deltas)
    assert len(counted) == 10_000
    assert sink.counted("all_requests") == len(sink.rows) == 10_000
    assert [batch.seq for batch in sink.batches] == list(range(1, len(sink.batches) + 1))


@pytest.mark.parametrize(
    ("took_s", "failures", "pause_s"),
    [(0.01, 0, 0.5), (0.4, 0, 0.8), (3.0, 0, 1.0), (0.4, 1, 1.0), (0.4, 99, 30.0)],
)
def test_the_longer_reporting_takes_the_fewer_and_larger_its_batches(
    took_s: float, failures: int, pause_s: float
) -> None:
    assert uplinks.pause_s(took_s, failures) == pause_s


async def test_a_batch_that_was_not_taken_is_sent_again_under_its_number() -> None:
    sink = Receiver(ConnectionError("down"))
    telemetry, link = reporting(sink)
    telemetry.add(record(0))
    with pytest.raises(ConnectionError):
        await link.flush()

    telemetry.add(record(1))
    await link.flush()

    assert [batch.seq for batch in sink.batches] == [1, 2]
    assert [row.request_id for row in sink.rows] == ["R0", "R1"]


async def test_a_batch_that_will_never_be_taken_is_given_up_and_its_number_stays_missing() -> None:
    sink = Receiver(RejectedError("too large"))
    telemetry, link = reporting(sink)
    telemetry.add(record(0))
    await link.flush()

    telemetry.add(record(1))
    await link.flush()

    assert [batch.seq for batch in sink.batches] == [2]
    assert sink.batches[0].claimed == 2


async def test_nothing_happening_is_reported_too_so_that_silence_means_something() -> None:
    sink = Receiver()
    _, link = reporting(sink)

    await link.flush()

    assert [(batch.seq, batch.rows, batch.deltas) for batch in sink.batches] == [(1, [], [])]


async def test_what_the_store_counted_since_the_last_report_is_in_the_next() -> None:
    sink, stored = Receiver(), Stored()
    telemetry, link = reporting(sink, stored=stored)

    for refused in (2, 5):
        stored.refused = refused
        telemetry.add(record())
        await link.flush()

    assert [d.counts["stash_refused"] for b in sink.batches for d in b.deltas] == [2, 3]


async def test_many_rows_go_in_batches_of_bounded_size() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    for number in range(4000):
        telemetry.add(record(number))
    await link.flush()

    assert len(sink.batches) > 1
    assert len(sink.rows) == 4000


async def test_stopping_sends_what_is_left() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)
    link.start()

    telemetry.add(record())
    await link.stop()

    assert len(sink.rows) == 1


async def test_requests_are_taken_while_a_batch_is_on_its_way() -> None:
    taken = asyncio.Event()

    class Slow(Receiver):
        async def send(self, body: bytes) -> None:
            await taken.wait()
            await super().send(body)

    sink = Slow()
    telemetry, link = reporting(sink)
    telemetry.add(record(0))
    flushing = asyncio.ensure_future(link.flush())
    await asyncio.sleep(0.01)

    telemetry.add(record(1))
    taken.set()
    await flushing
    await link.flush()

    assert [row.request_id for row in sink.rows] == ["R0", "R1"]


@pytest.mark.parametrize("milliseconds", [0.0, 0.02, 1.0, 700.0, 10**9])
def test_a_duration_lies_in_one_of_the_slots(milliseconds: float) -> None:
    assert 0 <= slot_of(milliseconds) < SLOTS


def test_percentiles_of_added_up_slots_are_those_of_all_durations() -> None:
    fast, slow = Counter({slot_of(1.0): 90}), Counter({slot_of(900.0): 10})

    both = fast + slow

    assert quantile_ms(both, 0.5) == pytest.approx(1.0)
    assert quantile_ms(both, 0.95) == pytest.approx(1000.0)
    assert quantile_ms({}, 0.5) is None


# ---- changed texts, for a tenant who agreed --------------------------------------------------


def changed(text: str, count: int = 1) -> tuple[Rewritten, ...]:
    return (Rewritten("messages[2]", Content(text), Content("less"), ("mask",)),) * count


async def test_a_text_leaves_without_its_credential() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)
    secret = "sk-ant-api03-" + "a1B2" * 8

    telemetry.add(record(captured=True, rewritten=changed(f"key {secret} end")))
    await link.flush()

    (row,) = sink.rows
    assert row.captured
    assert [text.before for text in row.texts] == ["key «secret» end"]
    assert (row.texts[0].redactions, row.texts_left_out) == (1, 0)


async def test_what_goes_over_the_texts_of_a_request_is_counted() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)

    telemetry.add(record(captured=True, rewritten=changed("text", TEXTS_MAX + 3)))
    await link.flush()

    (row,) = sink.rows
    assert (len(row.texts), row.texts_left_out) == (TEXTS_MAX, 3)


async def test_large_texts_fit_into_batches_with_everything_else() -> None:
    sink = Receiver()
    telemetry, link = reporting(sink)
    large = "\x01 a text that is as long as it may be " * 600

    for number in range(6):
        telemetry.add(record(number, captured=True, rewritten=changed(large, TEXTS_MAX)))
    await link.flush()

    assert [row.request_id for row in sink.rows] == [f"R{n}" for n in range(6)]
    assert all(row.texts and row.texts[0].is_cut for row in sink.rows)
    assert len(sink.batches) > 1


@pytest.mark.parametrize("bound", ["TEXTS_WAITING_MAX", "ROWS_WITH_TEXTS_MAX"])
async def test_while_too_much_waits_texts_are_left_out_and_figures_are_not(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uplinks, bound, 1000)
    sink = Receiver(*[OSError("away")] * 3)
    telemetry, link = reporting(sink)
    for number in range(3):
        telemetry.add(record(number, captured=True, rewritten=changed("many words " * 60)))
        with contextlib.suppress(OSError):
            await link.flush()
        telemetry.add(record(number + 10, captured=True, rewritten=changed("many words " * 60)))
    await link.flush()
    telemetry.add(record(20, captured=True, rewritten=changed("many words")))
    await link.flush()

    left_out = {row.request_id: row.texts_left_out for row in sink.rows}
    assert len(left_out) == 7
    assert sum(left_out.values()) >= 1
    assert all(row.tokens_before == 1000 for row in sink.rows)
    assert (sink.rows[-1].texts_left_out, len(sink.rows[-1].texts)) == (0, 1)
