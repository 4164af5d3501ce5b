"""What no database can store stands alone: nobody else's rows go with it, on either database."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.telemetry.actions import ingest
from controlplane.telemetry.models import (
    NodeStream,
    RequestRecord,
    SessionRecord,
    TelemetryGap,
    TrafficBucket,
)
from dataplane.core.uplink import Batch, ComponentDelta, ComponentRow, MarkerRow, decode
from tests.controlplane.telemetry.batches import NOW, batch, delta, row, written

pytestmark = pytest.mark.django_db(transaction=True)


def taken_in(one: Batch) -> bool:
    """As it comes from a node."""
    return ingest(decode(written(one)), received_at=NOW)


ODD_ROWS: list[dict[str, Any]] = [
    {"tokens_before": 2**70},
    {"fresh_input": 99999999999999999999},
    {"serve_ms": 1e300},
    {"at": 10**18},
    {"cost_usd": "NaN"},
    {"cost_usd": "free"},
    {"cost_usd": "1e30"},
    {"saved_usd": "-Infinity"},
    {"minted": [MarkerRow("a", "mask", 2**63)]},
    {"components": [ComponentRow("mask", "offload", gates={"cached_prefix": 2**80})]},
]


@pytest.mark.parametrize("odd", ODD_ROWS, ids=str)
def test_a_row_that_no_database_can_store_takes_no_other_tenants_with_it(
    odd: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    rows = [row(number, tenant=f"ten_{number}") for number in range(6)]
    rows[2] = row(2, tenant="ten_2", **odd)

    assert taken_in(batch(1, rows))

    assert RequestRecord.objects.count() == 5
    assert not RequestRecord.objects.filter(tenant_uid="ten_2").exists()
    assert SessionRecord.objects.count() == 5
    assert NodeStream.objects.get().dropped == 1
    gap = TelemetryGap.objects.get()
    assert (gap.kind, gap.rows, gap.from_seq, gap.to_seq) == ("refused", 1, 1, 1)
    assert "telemetry.rows_refused" in caplog.text
    assert not taken_in(batch(1, rows))


ODD_COUNTERS: list[dict[str, Any]] = [
    {"bucket_at": 10**18},
    {"counts": {"all_requests": 2**70}},
    {"billed_usd": "NaN"},
    {"billed_usd": "1e30"},
    {"components": {"mask": ComponentDelta(duration_ms=1e300)}},
    {"added": {13: 2**64}},
]


@pytest.mark.parametrize("odd", ODD_COUNTERS, ids=str)
def test_counters_that_no_database_can_store_take_no_others_with_them(odd: dict[str, Any]) -> None:
    deltas = [delta(tenant=f"ten_{number}") for number in range(4)]
    deltas[1] = delta(tenant="ten_1", **odd)

    assert taken_in(batch(1, [row(1)], deltas))

    assert RequestRecord.objects.count() == 1
    counted = TrafficBucket.objects.filter(resolution_s=10, requests=1)
    assert set(counted.values_list("tenant_uid", flat=True)) == {"ten_0", "ten_2", "ten_3"}
    assert NodeStream.objects.get().dropped == 1


def test_counters_past_what_their_bucket_holds_take_no_others_with_them() -> None:
    taken_in(batch(1, [], [delta(tenant="ten_0"), delta(tenant="ten_1")]))
    TrafficBucket.objects.filter(tenant_uid="ten_0").update(output=2**63 - 1)
    more = [delta(tenant=name, counts={"output_tokens": 5}) for name in ("ten_0", "ten_1")]

    assert taken_in(batch(2, [], more))

    assert TrafficBucket.objects.get(tenant_uid="ten_1", resolution_s=10).output == 5


@pytest.mark.parametrize("odd", [{"route": "x" * 200}, {"snapshot": "a\0b"}], ids=str)
def test_a_text_that_only_one_database_takes_costs_nobody_else_a_row(odd: dict[str, Any]) -> None:
    rows = [row(number, tenant=f"ten_{number}") for number in range(6)]
    rows[2] = row(2, tenant="ten_2", **odd)

    assert taken_in(batch(1, rows))

    assert RequestRecord.objects.exclude(tenant_uid="ten_2").count() == 5
