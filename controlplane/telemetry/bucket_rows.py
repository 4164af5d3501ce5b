"""How far counters moved, added to the buckets of every resolution and to the month's spend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar

from controlplane.telemetry.inserting import put
from controlplane.telemetry.models import (
    Bucket,
    ComponentBucket,
    MonthlySpend,
    SignalBucket,
    TrafficBucket,
)
from controlplane.telemetry.queries.losses import MISSING
from controlplane.telemetry.resolutions import RESOLUTIONS, bucket_of
from dataplane.core.uplink import ComponentDelta, Delta

AnyBucket = TypeVar("AnyBucket", bound=Bucket)
Name = tuple[str, ...]
Values = dict[str, Any]

# Columns of TrafficBucket and ComponentBucket, and the counter of the node behind each.
TRAFFIC = {
    "requests": "all_requests",
    "shaped": "requests",
    "errors": "outcome_error",
    "tokens_before": "tokens_before",
    "tokens_after": "tokens_after",
    "attempted_tokens": "attempted_tokens",
    "saved_unique": "saved_tokens_unique",
    "fresh_input": "fresh_input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "output": "output_tokens",
    "priced": "priced_requests",
    "unpriced": "unpriced_requests",
    "expands": "bounces",
    "expand_tokens": "wasted_tokens",
    "stash_refused": "stash_refused",
    "stash_missing": "stash_missing",
}
COMPONENT = {
    "runs": "runs",
    "acted": "acted",
    "acted_fresh": "acted_fresh",
    "acted_replay": "acted_replay",
    "mutated": "mutated",
    "reverted": "reverted",
    "discarded": "discarded_changes",
    "saved_gross": "saved_tokens",
    "saved_unique": "saved_tokens_unique",
}


def traffic_of(delta: Delta) -> Values:
    """Columns of TrafficBucket; a counter without a column is kept by its name."""
    known = set(TRAFFIC.values())
    more = {name: n for name, n in delta.counts.items() if name not in known}
    for prefix, named in (
        ("bypassed", delta.bypassed),
        ("refused", delta.refused),
        ("unresolved", delta.unresolved),
    ):
        more.update({f"{prefix}:{name}": n for name, n in named.items()})
    return {
        **{column: delta.counts.get(name, 0) for column, name in TRAFFIC.items()},
        "expand_missing": sum(delta.unresolved.get(cause, 0) for cause in MISSING),
        "expand_malformed": delta.unresolved.get("malformed", 0),
        "refused": sum(delta.refused.values()),
        "cost_usd": Decimal(delta.billed_usd),
        "counts": more,
        "added_spread": delta.added,
        "upstream_spread": delta.upstream,
    }


def component_of(delta: ComponentDelta) -> Values:
    return {
        **{column: delta.counts.get(name, 0) for column, name in COMPONENT.items()},
        "duration_us": round(delta.duration_ms * 1000),
        "spread": delta.spread,
    }


def signals_of(delta: ComponentDelta) -> Iterator[tuple[str, str, Values]]:
    """(signal, kind, columns) of every gate and event that was raised."""
    for kind, counted, requests in (
        ("gate", delta.gates, delta.gate_requests),
        ("event", delta.events, delta.event_requests),
    ):
        for name, n in counted.items():
            yield name, kind, {"n": n, "requests": requests.get(name, 0)}


class Additions:
    """What is to be added to the buckets, of all resolutions."""

    def __init__(self) -> None:
        self.traffic: dict[Name, Values] = {}
        self.components: dict[Name, Values] = {}
        self.signals: dict[Name, Values] = {}
        self.months: dict[Name, Values] = {}

    def add(self, delta: Delta) -> None:
        at = delta.bucket_at
        traffic = traffic_of(delta)
        for resolution_s in RESOLUTIONS:
            place = (resolution_s, bucket_of(at, resolution_s), delta.tenant)
            _merge(self.traffic, (*place, delta.arm), traffic)
            for name, component in delta.components.items():
                _merge(self.components, (*place, name, delta.arm), component_of(component))
                for signal, kind, values in signals_of(component):
                    _merge(self.signals, (*place, name, signal, kind, delta.arm), values)
        month = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m")
        columns = (
            "requests", "cost_usd", "unpriced", "tokens_before", "tokens_after", "saved_unique",
        )  # fmt: skip
        _merge(self.months, (delta.tenant, month), {name: traffic[name] for name in columns})

    def new_session(self, tenant: str, arm: str, at: int) -> None:
        for resolution_s in RESOLUTIONS:
            place = (resolution_s, bucket_of(at, resolution_s), tenant, arm)
            _merge(self.traffic, place, {"sessions": 1})

    def write(self) -> None:
        """Inside the transaction of the batch."""
        _add(TrafficBucket, _KEY, self.traffic)
        _add(ComponentBucket, (*_KEY[:3], "component", "arm"), self.components)
        signal = (*_KEY[:3], "component", "signal", "kind", "arm")
        _add(SignalBucket, signal, self.signals)
        _spend(self.months)


_KEY = ("resolution_s", "bucket_at", "tenant_uid", "arm")


def _merge(into: dict[Any, Values], name: Any, values: Values) -> None:
    known = into.get(name)
    if known is None:
        into[name] = {
            column: dict(value) if isinstance(value, dict) else value
            for column, value in values.items()
        }
        return
    for column, value in values.items():
        known[column] = _sum(known.get(column), value)


def _sum(one: Any, other: Any) -> Any:
    if not isinstance(other, Mapping):
        return (one or 0) + other
    joined = dict(one or {})
    for name, n in other.items():
        joined[name] = joined.get(name, 0) + n
    return joined


def _add(table: type[AnyBucket], key: tuple[str, ...], additions: dict[Name, Values]) -> None:
    if not additions:
        return
    known = {tuple(getattr(row, part) for part in key): row for row in _known(table, additions)}
    changed = []
    for name, values in additions.items():
        row = known.get(name) or table(**dict(zip(key, name, strict=True)))
        _grow(row, values)
        changed.append(row)
    put(table, changed, key)


def _known(table: type[AnyBucket], additions: Iterable[Name]) -> Iterable[AnyBucket]:
    resolutions, moments, tenants = ({name[part] for name in additions} for part in range(3))
    return table._default_manager.filter(
        resolution_s__in=resolutions, bucket_at__in=moments, tenant_uid__in=tenants
    )


def _grow(row: Any, values: Values) -> None:
    for column, value in values.items():
        known = getattr(row, column)
        if isinstance(value, Mapping):
            value = {str(name): n for name, n in value.items()}
        setattr(row, column, _sum(known, value))


def _spend(months: dict[Name, Values]) -> None:
    tenants, names = ({name[part] for name in months} for part in (0, 1))
    rows = MonthlySpend.objects.filter(tenant_uid__in=tenants, month__in=names)
    known = {(row.tenant_uid, row.month): row for row in rows}
    changed = []
    for (tenant, month), values in months.items():
        row = known.get((tenant, month)) or MonthlySpend(tenant_uid=tenant, month=month)
        _grow(row, values)
        changed.append(row)
    put(MonthlySpend, changed, ("tenant_uid", "month"))
