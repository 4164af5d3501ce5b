"""The control plane's series: which, with what labels, and what is absent (03 §6.2, 04 §10.1)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from controlplane.accounts.actions import create_tenant, set_disabled
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.metrics import months, requests
from controlplane.metrics.labels import OTHER
from controlplane.metrics.page import exposition
from controlplane.telemetry.models import MonthlySpend, TrafficBucket
from tests import house
from tests.controlplane.metrics.samples import Samples, read

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY_MS = 86_400_000


def spent(tenant: Tenant, requests_: int, month: str = "2026-11") -> None:
    MonthlySpend.objects.create(
        tenant_uid=tenant.uid, month=month, requests=requests_, cost_usd="1.25",
        saved_usd="0.75", unpriced=2, tokens_before=1000, tokens_after=400,
        saved_unique=600,
    )  # fmt: skip


def monthly(limit: int = 2000) -> Samples:
    return read(months.months(NOW, limit))


# ---- this month -------------------------------------------------------------------------------


def test_a_tenants_month_comes_from_the_record_that_never_shrinks(tenant: Tenant) -> None:
    spent(tenant, 7)
    spent(tenant, 99, month="2026-10")
    midnight = int(NOW.replace(hour=0).timestamp() * 1000)
    for day in (midnight, midnight - 29 * DAY_MS, midnight - 30 * DAY_MS):
        TrafficBucket.objects.create(
            resolution_s=86_400, bucket_at=day, tenant_uid=tenant.uid, cache_read=50, sessions=1
        )

    found = monthly()
    who = {"tenant": tenant.uid, "label": tenant.label}

    assert found.value("cg_tenant_requests_total", **who) == 7
    assert found.value("cg_tenant_cost_usd", **who) == 1.25
    assert found.value("cg_tenant_baseline_cost_usd", **who) == 2.0
    assert found.value("cg_tenant_unpriced_requests", **who) == 2
    assert found.value("cg_tenant_tokens_total", stage="after", **who) == 400
    assert found.value("cg_tenant_billed_tokens_total", tier="cache_read", **who) == 100
    assert found.value("cg_tenant_sessions", **who) == 2
    assert found.value("cg_saved_usd") == 0.75


def test_a_tenant_without_traffic_stands_at_nothing(tenant: Tenant) -> None:
    found = monthly()

    who = {"tenant": tenant.uid, "label": tenant.label}
    assert found.value("cg_tenant_requests_total", **who) == 0
    assert found.value("cg_tenant_disabled", **who) == 0


def test_a_disabled_tenant_shows(tenant: Tenant) -> None:
    set_disabled(tenant, reason="unpaid", by=None)

    who = {"tenant": tenant.uid, "label": tenant.label}
    assert monthly().value("cg_tenant_disabled", **who) == 1


def test_tenants_beyond_the_limit_share_a_series_and_lose_nothing(
    organisation: Organisation,
) -> None:
    made = [create_tenant(organisation, slug=f"tenant-{n}", by=None) for n in range(5)]
    for tenant in made:
        spent(tenant, 10)

    found = monthly(limit=3)

    labels = found.labels("cg_tenant_requests_total")
    assert {each["tenant"] for each in labels} == {*(t.uid for t in made[:3]), OTHER}
    assert found.value("cg_tenant_requests_total", tenant=OTHER, label=OTHER) == 20
    assert found.sum("cg_tenant_requests_total") == 50


def test_a_gauge_that_begins_anew_says_so(db: None) -> None:
    for family in months.months(NOW, 0):
        if family.name != "cg_tenant_disabled":
            assert "rate()" in family.documentation, family.name
        assert family.type == "gauge"


# ---- requests ---------------------------------------------------------------------------------


def test_a_request_counts_under_its_pattern_never_under_its_path(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "counts", requests.RequestCounts())
    client = Client()

    client.get(f"/tenants/{tenant.uid}")
    client.get("/api/v1/tenants/ten_1")
    for name in ("a", "b"):
        client.get(f"/no-such-page-{name}")
    client.generic("BREW", "/login")

    found = read(requests.counts.collect())
    seen = {
        (at["route"], at["method"], at["status"]) for at in found.labels("cp_http_requests_total")
    }
    assert seen == {
        ("/tenants/<slug:slug>", "GET", "302"),
        ("/api/v1/tenants/<uid>", "GET", "401"),
        ("unmatched", "GET", "404"),
        ("/login", "other", "405"),
    }
    assert found.value("cp_http_requests_total", route="unmatched", method="GET", status="404") == 2
    assert found.value("cp_http_seconds_count") == 5
    assert found.value("cp_http_seconds_bucket", le="+Inf") == 5


# ---- the page ---------------------------------------------------------------------------------


def test_closed_sets_stand_at_0_from_the_start(db: None) -> None:
    found = Samples(exposition(dict).decode())

    assert found.value("cp_alarms_open", severity="critical") == 0
    assert found.value("cp_nodes", state="nacked") == 0
    assert found.value("cp_live_clients", kind="sse") == 0
    assert found.value("cp_notifications_total", kind="webhook", outcome="given_up") == 0


def test_what_cannot_be_read_is_absent_and_named(
    tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    with connections["telemetry"].cursor() as cursor:
        cursor.execute("ALTER TABLE telemetry_monthlyspend RENAME TO gone")

    found = Samples(exposition(dict).decode())

    assert found.value("cp_unreadable", source="months") == 1
    assert found.value("cp_unreadable", source="fleet") == 0
    assert not found.labels("cg_tenant_requests_total")
    assert found.labels("cp_nodes")
    assert "cp.metrics_unreadable source=months" in caplog.text


def test_no_label_carries_a_person_or_a_secret(tenant: Tenant, manager: User) -> None:
    text = exposition(dict).decode()

    assert manager.email not in text
    assert "@" not in text
    assert "cg_live_" not in text


# ---- the dashboard ----------------------------------------------------------------------------

DASHBOARD: dict[str, Any] = json.loads(house.read("docker/grafana/headrace-control.json"))
SERIES = re.compile(r"\b(c[gp]_[a-z0-9_]+)(?:\{([^}]*)\})?")


def test_every_panel_asks_for_what_the_control_plane_serves(tenant: Tenant) -> None:
    served = {
        sample.name
        for family in text_string_to_metric_families(exposition(dict).decode())
        for sample in family.samples
    }
    declared = served | {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in text_string_to_metric_families(exposition(dict).decode())
    }
    asked = [
        (panel["title"], series)
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
        for series, _ in SERIES.findall(target["expr"])
    ]

    assert asked
    for title, series in asked:
        assert series in declared, f"{title}: {series}"


def test_every_panel_says_what_it_shows() -> None:
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

    assert all(panel["description"] for panel in panels)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
