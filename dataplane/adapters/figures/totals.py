"""Counters that add up: over requests, over tenants, and over the workers of one host.

Source: 03-proxy-and-recovery.md 6.1; 01-components.md 1.15.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

# Upper bounds in seconds, by the part of a histogram's name before the colon.
BUCKETS: dict[str, tuple[float, ...]] = {
    "request_duration": (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
    "added": (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
    "upstream_first_byte": (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
    "store_commit": (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
}


@dataclass(slots=True)
class Mean:
    """A running mean."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1

    def merge(self, other: Mean) -> None:
        self.total += other.total
        self.count += other.count

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class Histogram:
    """Durations by upper bound. counts: by the index of the bound, the last one is above all."""

    counts: Counter[int] = field(default_factory=Counter)
    total_s: float = 0.0

    def add(self, seconds: float, bounds: tuple[float, ...]) -> None:
        self.counts[bisect_left(bounds, seconds)] += 1
        self.total_s += seconds

    def merge(self, other: Histogram) -> None:
        self.counts.update(other.counts)
        self.total_s += other.total_s


@dataclass(slots=True)
class ComponentTotals:
    """One component over many requests; counts is by the field names of /stats."""

    counts: Counter[str] = field(default_factory=Counter)
    gates: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    duration_ms: float = 0.0

    def merge(self, other: ComponentTotals) -> None:
        self.counts.update(other.counts)
        self.gates.update(other.gates)
        self.events.update(other.events)
        self.duration_ms += other.duration_ms


@dataclass(slots=True)
class Totals:
    """Everything counted of some requests. histograms: by name, or name:route.

    not_kept: threads that were not kept alive, by gate. pings_usd: a part of billed_usd.
    rescued_usd: what requests did not have to pay because pings had kept their prefix.
    potential: components as they would have done in mode sync, where requests were only observed.
    """

    counts: Counter[str] = field(default_factory=Counter)
    unresolved: Counter[str] = field(default_factory=Counter)
    bypassed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    components: dict[str, ComponentTotals] = field(default_factory=dict)
    potential: dict[str, ComponentTotals] = field(default_factory=dict)
    means: dict[str, Mean] = field(default_factory=dict)
    histograms: dict[str, Histogram] = field(default_factory=dict)
    billed_usd: Decimal = Decimal(0)
    saved_usd: Decimal = Decimal(0)
    not_kept: Counter[str] = field(default_factory=Counter)
    pings_usd: Decimal = Decimal(0)
    rescued_usd: Decimal = Decimal(0)

    def merge(self, other: Totals) -> None:
        """Add what other requests came to."""
        self.counts.update(other.counts)
        self.unresolved.update(other.unresolved)
        self.bypassed.update(other.bypassed)
        self.refused.update(other.refused)
        for name, component in other.components.items():
            self.component(name).merge(component)
        for name, component in other.potential.items():
            self.potential.setdefault(name, ComponentTotals()).merge(component)
        for name, mean in other.means.items():
            self.mean(name).merge(mean)
        for name, histogram in other.histograms.items():
            self.histograms.setdefault(name, Histogram()).merge(histogram)
        self.billed_usd += other.billed_usd
        self.saved_usd += other.saved_usd
        self.not_kept.update(other.not_kept)
        self.pings_usd += other.pings_usd
        self.rescued_usd += other.rescued_usd

    def copy(self) -> Totals:
        copied = Totals()
        copied.merge(self)
        return copied

    def component(self, name: str) -> ComponentTotals:
        found = self.components.get(name)
        if found is None:
            found = self.components[name] = ComponentTotals()
        return found

    def mean(self, name: str) -> Mean:
        found = self.means.get(name)
        if found is None:
            found = self.means[name] = Mean()
        return found

    def observe(self, name: str, milliseconds: float | None, label: str = "") -> None:
        """Put a duration into a histogram; None is not put anywhere."""
        if milliseconds is None:
            return
        key = f"{name}:{label}" if label else name
        histogram = self.histograms.get(key)
        if histogram is None:
            histogram = self.histograms[key] = Histogram()
        histogram.add(milliseconds / 1000, BUCKETS[name])


def counters_from_json(kind: type, value: dict[str, int]) -> Counter[Any]:
    """The dec_hook with which msgspec reads Totals. TypeError for any other type."""
    if kind == Counter[str]:
        return Counter(value)
    if kind == Counter[int]:
        return Counter({int(bound): count for bound, count in value.items()})
    raise TypeError(f"{kind} is not a counter")
