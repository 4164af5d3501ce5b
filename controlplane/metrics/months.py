"""What each tenant used this calendar month, from the database (03 §6.2).

Gauges, though some names end in _total: they begin again at 0 every month, so rate() over them is
wrong. A price that is unknown is not in the dollars; how many requests that are is a series.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal

from django.db.models import Sum
from prometheus_client.core import GaugeMetricFamily, Metric

from controlplane.metrics.labels import TENANTS_MAX, TenantLabel, tenant_labels
from controlplane.telemetry.models import MonthlySpend, TrafficBucket

DAY_S = 86_400
Totals = Mapping[str, Decimal | int]
TIERS = {
    "fresh_input": "fresh_input",
    "cache_read": "cache_read",
    "cache_write": "cache_write",
    "output": "output",
}
SCOPE = "This tenant, this calendar month (UTC), from the database; rate() over it is wrong."
SIMPLE = {
    "cg_tenant_requests_total": ("requests", "Requests."),
    "cg_tenant_saved_tokens_unique_total": ("saved_unique", "Tokens removed, each text once."),
    "cg_tenant_cost_usd": ("cost_usd", "What priced requests cost."),
    "cg_tenant_baseline_cost_usd": ("baseline_usd", "What they would have cost untouched."),
    "cg_tenant_saved_usd": ("saved_usd", "The difference of the two."),
    "cg_tenant_unpriced_requests": ("unpriced", "Requests whose price is unknown."),
    "cg_tenant_sessions": ("sessions", "Sessions that began."),
}
OVERALL = {
    "cg_baseline_cost_usd": ("baseline_usd", "What priced requests would have cost untouched."),
    "cg_saved_usd": ("saved_usd", "What was saved of that."),
}


def months(now: datetime, limit: int = TENANTS_MAX) -> Iterator[Metric]:
    """Every tenant has its series from the start; what it did not use is 0."""
    labels = tenant_labels(limit)
    found = _added(labels, now)
    for name, (field, text) in SIMPLE.items():
        family = GaugeMetricFamily(name, f"{text} {SCOPE}", labels=["tenant", "label"])
        for label, totals in found.items():
            family.add_metric([label.uid, label.label], float(totals.get(field, 0)))
        yield family
    yield _staged(found)
    yield _billed(found)
    yield _disabled(found)
    for name, (field, text) in OVERALL.items():
        scope = "All tenants, this calendar month (UTC), from the database; rate() is wrong."
        value = float(sum(totals.get(field, 0) for totals in found.values()))
        yield GaugeMetricFamily(name, f"{text} {scope}", value=value)


def _staged(found: Mapping[TenantLabel, Totals]) -> Metric:
    family = GaugeMetricFamily(
        "cg_tenant_tokens_total",
        f"Input tokens before and after compaction. {SCOPE}",
        labels=["tenant", "label", "stage"],
    )
    for label, totals in found.items():
        for stage in ("before", "after"):
            value = float(totals.get(f"tokens_{stage}", 0))
            family.add_metric([label.uid, label.label, stage], value)
    return family


def _billed(found: Mapping[TenantLabel, Totals]) -> Metric:
    family = GaugeMetricFamily(
        "cg_tenant_billed_tokens_total",
        f"Tokens that providers billed, by tier. {SCOPE}",
        labels=["tenant", "label", "tier"],
    )
    for label, totals in found.items():
        for tier, field in TIERS.items():
            family.add_metric([label.uid, label.label, tier], float(totals.get(field, 0)))
    return family


def _disabled(found: Mapping[TenantLabel, Totals]) -> Metric:
    family = GaugeMetricFamily(
        "cg_tenant_disabled", "1 while the tenant's traffic is turned away.",
        labels=["tenant", "label"],
    )  # fmt: skip
    for label in found:
        if label.is_disabled is not None:
            family.add_metric([label.uid, label.label], int(label.is_disabled))
    return family


def _added(labels: Mapping[str, TenantLabel], now: datetime) -> dict[TenantLabel, Totals]:
    """By label; what belongs to no tenant that we know is left out."""
    found: dict[TenantLabel, dict[str, Decimal | int]] = {
        label: defaultdict(int) for label in labels.values()
    }
    for uid, totals in (*_spent(now), *_carried(now)):
        if uid in labels:
            for field, value in totals.items():
                found[labels[uid]][field] += value
    return {label: dict(totals) for label, totals in found.items()}


def _spent(now: datetime) -> Iterator[tuple[str, Totals]]:
    rows = MonthlySpend.objects.filter(month=f"{now.astimezone(UTC):%Y-%m}")
    for row in rows.iterator():
        yield (
            row.tenant_uid,
            {
                "requests": row.requests,
                "saved_unique": row.saved_unique,
                "tokens_before": row.tokens_before,
                "tokens_after": row.tokens_after,
                "unpriced": row.unpriced,
                "cost_usd": row.cost_usd,
                "saved_usd": row.saved_usd,
                "baseline_usd": row.cost_usd + row.saved_usd,
            },
        )


def _carried(now: datetime) -> Iterator[tuple[str, Totals]]:
    """What the record of a month does not hold, from its days."""
    first = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    days = TrafficBucket.objects.filter(
        resolution_s=DAY_S, bucket_at__gte=int(first.timestamp() * 1000)
    )
    fields = (*TIERS.values(), "sessions")
    sums = {f"n_{field}": Sum(field) for field in fields}
    for uid, *numbers in days.values_list("tenant_uid").annotate(**sums).order_by("tenant_uid"):
        yield uid, dict(zip(fields, numbers, strict=True))
