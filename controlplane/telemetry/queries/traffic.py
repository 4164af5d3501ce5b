"""Requests, tokens and dollars of a window: as one figure, and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import F, Q, Sum

from controlplane.accounts.scopes import Scope
from controlplane.telemetry.models import TrafficBucket
from controlplane.telemetry.queries.coverage import (
    NOTHING_READ,
    State,
    coverage,
    readable,
    state_of,
)
from controlplane.telemetry.queries.reach import Reach, reach
from controlplane.telemetry.queries.windows import Window
from controlplane.telemetry.resolutions import RESOLUTIONS
from dataplane.core import spread

COUNTS = (
    "requests", "shaped", "sessions", "errors", "tokens_before", "tokens_after",
    "attempted_tokens", "saved_unique", "fresh_input", "cache_read", "cache_write",
    "cache_write_1h", "output", "priced", "unpriced", "expands", "expand_tokens",
    "expand_missing", "expand_malformed", "stash_refused", "stash_missing", "refused",
)  # fmt: skip
DOLLARS = ("cost_usd", "saved_usd", "pings_usd", "rescued_usd")


@dataclass(frozen=True, slots=True)
class Durations:
    """Within how many ms half of n requests were done, and 95 %; None for unmeasured."""

    n: int = 0
    half_ms: float | None = None
    most_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Traffic:
    """Figures of a window; tokens unless the name says otherwise.

    shaped: requests that went through the pipeline. sessions: new ones. cost_usd: of the priced
    requests; None where there is none but some could not be priced (unknown, never 0). saved_usd:
    the same of what they would have cost more.
    cost_is_partial: some requests are missing from cost_usd. counts: every other counter by
    name. pings_usd: a part of cost_usd; rescued_usd: what requests did not pay because of them.
    """

    state: State
    requests: int = 0
    shaped: int = 0
    sessions: int = 0
    errors: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    attempted_tokens: int = 0
    saved_unique: int = 0
    fresh_input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    priced: int = 0
    unpriced: int = 0
    expands: int = 0
    expand_tokens: int = 0
    expand_missing: int = 0
    expand_malformed: int = 0
    stash_refused: int = 0
    stash_missing: int = 0
    refused: int = 0
    cost_usd: Decimal | None = None
    saved_usd: Decimal | None = None
    pings_usd: Decimal = Decimal(0)
    rescued_usd: Decimal = Decimal(0)
    counts: Mapping[str, int] = field(default_factory=dict)
    added: Durations = Durations()
    upstream: Durations = Durations()

    @property
    def saved_gross(self) -> int:
        return self.tokens_before - self.tokens_after

    @property
    def cost_is_partial(self) -> bool:
        return self.unpriced > 0


@dataclass(frozen=True, slots=True)
class TrafficPoint:
    """One step of a series. at: ms, where the step begins. values: by the names of COUNTS."""

    at: int
    values: Mapping[str, int]
    cost_usd: Decimal | None
    saved_usd: Decimal | None


def totals(scope: Scope, window: Window, *, tenant: str = "", arm: str = "") -> Traffic:
    """The window as one figure."""
    covered = coverage(window)
    rows = _rows(reach(scope, tenant), arm)
    found = readable(lambda: _totals(rows, window), None)
    if found is None:
        return Traffic(State.UNKNOWN)
    state = state_of(covered, seen=bool(found["requests"] or found["refused"]))
    return Traffic(state, **found)


def by_tenant(scope: Scope, window: Window) -> Mapping[str, Mapping[str, int]] | None:
    """COUNTS of each tenant that had traffic, by its uid; None while it cannot be read."""
    buckets = TrafficBucket.objects.filter(reach(scope).rows, window.rows)
    grouped = buckets.values("tenant_uid").annotate(**{f"{name}_": Sum(name) for name in COUNTS})
    sums = [f"{name}_" for name in COUNTS]
    rows = readable(lambda: list(grouped.order_by().values_list("tenant_uid", *sums)), None)
    if rows is None:
        return None
    return {uid: dict(zip(COUNTS, map(int, found), strict=True)) for uid, *found in rows}


def traffic_ever(scope: Scope, tenant: str = "") -> bool:
    """Whether a request was ever counted, for as long as that is kept."""
    rows = TrafficBucket.objects.filter(reach(scope, tenant).rows)
    seen = rows.filter(resolution_s=RESOLUTIONS[-1], requests__gt=0)
    return bool(readable(seen.exists, None))


def _totals(rows: Q, window: Window) -> dict[str, Any]:
    buckets = TrafficBucket.objects.filter(rows, window.rows)
    dollars = {name.removesuffix("_usd"): Sum(name) for name in DOLLARS}
    sums = buckets.aggregate(**{name: Sum(name) for name in COUNTS}, **dollars)
    counts: Counter[str] = Counter()
    added: Counter[int] = Counter()
    upstream: Counter[int] = Counter()
    details = buckets.values_list("counts", "added_spread", "upstream_spread")
    for more, slots, upstream_slots in details.iterator():
        counts.update(more)
        added.update({int(slot): n for slot, n in slots.items()})
        upstream.update({int(slot): n for slot, n in upstream_slots.items()})
    found = {name: sums[name] or 0 for name in COUNTS}
    return {
        **found,
        "cost_usd": _known(sums["cost"], found["priced"], found["unpriced"]),
        "saved_usd": _known(sums["saved"], found["priced"], found["unpriced"]),
        "counts": counts,
        "pings_usd": sums["pings"] or Decimal(0),
        "rescued_usd": sums["rescued"] or Decimal(0),
        "added": _durations(added),
        "upstream": _durations(upstream),
    }


def _durations(slots: Counter[int]) -> Durations:
    half, most = (spread.quantile_ms(slots, share) for share in (0.5, 0.95))
    return Durations(slots.total(), half, most)


def _known(cost: Decimal | None, priced: int, unpriced: int) -> Decimal | None:
    """No price for any request is not a cost of nothing."""
    return None if unpriced and not priced else cost or Decimal(0)


def series(
    scope: Scope, window: Window, *, tenant: str = "", arm: str = ""
) -> tuple[State, Sequence[TrafficPoint]]:
    """A point per step in which something was counted, oldest first; window.steps has them all."""
    covered = coverage(window)
    rows = _rows(reach(scope, tenant), arm)
    step_ms = window.step_s * 1000
    points = readable(lambda: _points(rows, window, step_ms), None)
    if points is None:
        return NOTHING_READ.state, ()
    return state_of(covered, seen=bool(points)), points


def _points(rows: Q, window: Window, step_ms: int) -> list[TrafficPoint]:
    dollars = {"cost": Sum("cost_usd"), "saved": Sum("saved_usd")}
    stepped: Any = (
        TrafficBucket.objects.filter(rows, window.step_rows)
        .values(at=F("bucket_at") - F("bucket_at") % step_ms)
        .annotate(**{f"n_{name}": Sum(name) for name in COUNTS}, **dollars)
        .order_by("at")
    )
    return [
        TrafficPoint(
            row["at"],
            {name: row[f"n_{name}"] for name in COUNTS},
            _known(row["cost"], row["n_priced"], row["n_unpriced"]),
            _known(row["saved"], row["n_priced"], row["n_unpriced"]),
        )
        for row in stepped
    ]


def _rows(reached: Reach, arm: str) -> Q:
    return reached.rows & (Q(arm=arm) if arm else Q())
