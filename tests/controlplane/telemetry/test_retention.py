"""What is forgotten first, and what never is."""

from __future__ import annotations

from collections import Counter

import pytest
from django.core.management import call_command
from django.db import connections
from django.db.models import Sum

from controlplane.accounts.models import Tenant
from controlplane.databases import TELEMETRY
from controlplane.telemetry import retention
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.apps import INCREMENTAL
from controlplane.telemetry.models import (
    ComponentBucket,
    MarkerRecord,
    MonthlySpend,
    RequestRecord,
    SessionRecord,
    SignalBucket,
    TrafficBucket,
)
from controlplane.telemetry.resolutions import DAY_S, HOUR_S, RESOLUTIONS
from controlplane.telemetry.retention import Limits, purge
from dataplane.core.uplink import ComponentRow
from tests.controlplane.telemetry.batches import NOW, batch, delta, lost, minted, row

pytestmark = pytest.mark.django_db
DAY = DAY_S * 1000


def no_disk() -> float:
    return 0.0


def tenants_left() -> dict[str, int]:
    return dict(Counter(RequestRecord.objects.values_list("tenant_uid", flat=True)))


def test_a_heavy_tenant_pays_for_itself_and_a_quiet_one_keeps_everything() -> None:
    heavy = [row(n) for n in range(30)]
    ingest(batch(1, [*heavy, row(50, tenant="ten_basalt")]), received_at=NOW)

    purged = purge(NOW, Limits(request_rows=10), disk=no_disk)

    assert tenants_left() == {"ten_orchid": 10, "ten_basalt": 1}
    assert purged.rows["quota"] == 20


def test_the_newest_requests_of_a_tenant_are_kept() -> None:
    ingest(batch(1, [row(n) for n in range(30)]), received_at=NOW)

    purge(NOW, Limits(request_rows=3), disk=no_disk)

    turns = RequestRecord.objects.order_by("turn").values_list("turn", flat=True)
    assert list(turns) == [28, 29, 30]


def test_requests_go_when_they_are_old() -> None:  # 04 §J-04
    rows = [row(1, at=NOW - 8 * DAY), row(2)]
    ingest(batch(1, rows), received_at=NOW)

    purge(NOW, disk=no_disk)

    assert RequestRecord.objects.count() == 1


def test_each_resolution_is_kept_for_its_own_time() -> None:
    ages = [HOUR_S, 30 * HOUR_S, 60 * HOUR_S, 100 * DAY_S, 500 * DAY_S]
    deltas = [delta(1, bucket_at=NOW - age * 1000) for age in ages]
    ingest(batch(1, [], deltas), received_at=NOW)

    purge(NOW, disk=no_disk)

    for table in (TrafficBucket, ComponentBucket, SignalBucket):
        kept = [table._default_manager.filter(resolution_s=each).count() for each in RESOLUTIONS]
        assert kept == [1, 2, 3, 4]


def test_the_spend_of_a_month_outlives_everything() -> None:
    old = NOW - 1000 * DAY
    moved = [delta(1, bucket_at=old)]
    ingest(batch(1, [row(1, at=old, minted=minted())], moved), received_at=NOW)

    purge(NOW, Limits(request_rows=1), disk=no_disk)

    assert not TrafficBucket.objects.exists()
    assert not SessionRecord.objects.exists()
    assert not MarkerRecord.objects.exists()
    assert MonthlySpend.objects.get().requests == 1


def test_a_marker_that_only_a_recovery_call_named_is_forgotten_like_any_other() -> None:
    old = NOW - 100 * DAY
    ingest(batch(1, [lost(1, at=old)], [delta(1, bucket_at=old)]), received_at=NOW)
    ingest(batch(2, [lost(2, tenant="ten_basalt")]), received_at=NOW)

    purge(NOW, disk=no_disk)

    assert MarkerRecord.objects.get().tenant_uid == "ten_basalt"


def test_a_database_that_grew_too_large_loses_its_oldest_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "PARENTS", 10)
    ingest(batch(1, [row(n) for n in range(40)]), received_at=NOW)
    sizes = iter([200, 150, 90, 90])
    monkeypatch.setattr(retention, "bytes_used", lambda: next(sizes))

    purged = purge(NOW, Limits(database_bytes=100), disk=no_disk)

    assert purged.rows["size"] == 20
    assert RequestRecord.objects.order_by("id").values_list("turn", flat=True)[0] == 21


def test_a_disk_that_fills_is_emptied_below_its_low_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PARENTS", 10)
    ingest(batch(1, [row(n) for n in range(40)]), received_at=NOW)
    ratios = iter([0.91, 0.91, 0.88, 0.84])

    purged = purge(NOW, disk=lambda: next(ratios))

    assert purged.rows["disk"] == 20


def test_quota_comes_before_age_age_before_size_and_size_before_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "PARENTS", 1)
    rows = [row(1, at=NOW - 8 * DAY), *(row(n) for n in range(2, 6)), row(9, tenant="ten_basalt")]
    ingest(batch(1, rows, [delta(6)]), received_at=NOW)
    sizes, ratios = iter([200, 90]), iter([0.91, 0.91, 0.84])
    monkeypatch.setattr(retention, "bytes_used", lambda: next(sizes))
    limits = Limits(request_rows=4, database_bytes=100)

    purged = purge(NOW, limits, disk=lambda: next(ratios))

    assert list(purged.rows) == ["quota", "age", "size", "disk"]
    assert [purged.rows[why] for why in ("quota", "size", "disk")] == [1, 1, 1]
    assert tenants_left() == {"ten_orchid": 2, "ten_basalt": 1}
    assert MonthlySpend.objects.aggregate(n=Sum("requests"))["n"] == 6


def test_a_disk_below_its_high_mark_costs_nothing() -> None:
    ingest(batch(1, [row(1)]), received_at=NOW)

    purge(NOW, disk=lambda: 0.89)

    assert RequestRecord.objects.count() == 1


def test_a_purge_that_runs_out_of_time_says_that_more_is_left() -> None:
    ingest(batch(1, [row(1, at=NOW - 8 * DAY)]), received_at=NOW)

    purged = purge(NOW, budget_s=-1, disk=no_disk)

    assert not purged.is_finished
    assert str(purged).endswith("more is left")


def test_buckets_of_every_resolution_equal_a_recount_of_the_rows() -> None:  # 04 §J-03
    ten = [ComponentRow(f"c{n}", "offload") for n in range(10)]
    for seq in range(1, 6):
        rows = [row(seq * 100 + n, at=NOW + seq * 70_000, components=ten) for n in range(20)]
        ingest(batch(seq, rows, [delta(20, bucket_at=NOW + seq * 70_000)]), received_at=NOW)

    rows_sum = RequestRecord.objects.aggregate(n=Sum("tokens_after"), usd=Sum("cost_usd"))
    for resolution_s in RESOLUTIONS:
        buckets = TrafficBucket.objects.filter(resolution_s=resolution_s)
        assert buckets.aggregate(n=Sum("tokens_after"), usd=Sum("cost_usd")) == rows_sum


def test_seeded_rows_and_buckets_agree(tenant: Tenant) -> None:
    call_command("seed_telemetry", requests=2_000, hours=1, runs=100, verbosity=0)

    rows = RequestRecord.objects.aggregate(n=Sum("tokens_after"), usd=Sum("cost_usd"))
    sessions = SessionRecord.objects.aggregate(n=Sum("tokens_after"), usd=Sum("cost_usd"))
    assert rows == sessions
    for resolution_s in RESOLUTIONS:
        buckets = TrafficBucket.objects.filter(resolution_s=resolution_s, tenant_uid=tenant.uid)
        assert buckets.aggregate(n=Sum("tokens_after"), usd=Sum("cost_usd")) == rows


@pytest.mark.skipif(connections[TELEMETRY].vendor != "sqlite", reason="a server gives back itself")
def test_a_file_gives_back_its_pages_and_a_connection_does_not_write_to_say_so() -> None:
    options = connections[TELEMETRY].settings_dict["OPTIONS"]
    with connections[TELEMETRY].cursor() as cursor:
        kept = cursor.execute("PRAGMA auto_vacuum").fetchone()

    assert kept == (INCREMENTAL,)
    assert "auto_vacuum" not in options["init_command"]
