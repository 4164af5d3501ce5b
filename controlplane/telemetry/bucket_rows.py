"""How far counters moved, added to the buckets of every resolution and to the month's spend."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db.models import JSONField, Model

from controlplane.telemetry.inserting import add
from controlplane.telemetry.models import (
    ComponentBucket,
    MonthlySpend,
    SignalBucket,
    TrafficBucket,
)
from controlplane.telemetry.queries.losses import MISSING
from controlplane.telemetry.resolutions import RESOLUTIONS, bucket_of
from controlplane.telemetry.usd import nano
from dataplane.core.uplink import ComponentDelta, Delta

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
        "saved_usd": Decimal(delta.saved_usd),
        "pings_usd": Decimal(delta.pings_usd),
        "rescued_usd": Decimal(delta.rescued_usd),
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
            "requests", "cost_usd", "saved_usd", "unpriced", "tokens_before", "tokens_after",
            "saved_unique",
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
        _add(MonthlySpend, ("tenant_uid", "month"), self.months)


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


def _add(table: type[Model], key: tuple[str, ...], additions: Mapping[Name, Values]) -> None:
    spreads = _spreads(table)
    known = _known(table, key, spreads, additions) if spreads else {}
    blank = _blank(table, key)
    rows = []
    for name, values in additions.items():
        row = {**dict(zip(key, name, strict=True)), **blank, **values}
        for column, held in zip(spreads, known.get(name, ()), strict=False):
            row[column] = _sum(held, _named(row[column]))
        rows.append({column: _kept(value) for column, value in row.items()})
    add(table, rows, key, replaced=spreads)


def _spreads(table: type[Model]) -> tuple[str, ...]:
    """Columns of counts by name: a database does not add those up."""
    return tuple(f.name for f in table._meta.concrete_fields if isinstance(f, JSONField))


def _blank(table: type[Model], key: tuple[str, ...]) -> Values:
    columns = (f for f in table._meta.concrete_fields if not f.primary_key and f.name not in key)
    return {column.name: column.get_default() for column in columns}


def _known(
    table: type[Model], key: tuple[str, ...], spreads: tuple[str, ...], names: Iterable[Name]
) -> dict[Name, tuple[Any, ...]]:
    """What the spreads of the buckets hold that are there already."""
    resolutions, moments, tenants = ({name[part] for name in names} for part in range(3))
    rows = table._default_manager.filter(
        resolution_s__in=resolutions, bucket_at__in=moments, tenant_uid__in=tenants
    ).values_list(*key, *spreads)
    return {row[: len(key)]: row[len(key) :] for row in rows}


def _named(counts: Mapping[Any, int]) -> dict[str, int]:
    return {str(name): n for name, n in counts.items()}


def _kept(value: Any) -> Any:
    """As the database keeps it."""
    if isinstance(value, Decimal):
        return nano(value)
    return json.dumps(value) if isinstance(value, Mapping) else value
