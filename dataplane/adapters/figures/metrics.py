"""The Prometheus page of a worker or of a host, from a sheet that nothing changes any more.

The request path only counts. Closed sets of labels are all there from the start, at 0: a series
that is absent reads as healthy. Source: 03-proxy-and-recovery.md 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from dataplane.adapters.figures import metric_names as names
from dataplane.adapters.figures.metric_names import Labelled
from dataplane.adapters.figures.sheets import Sheet
from dataplane.adapters.figures.tenant_refusals import OTHER, TENANTS_MAX
from dataplane.adapters.figures.totals import BUCKETS, ComponentTotals, Histogram, Totals
from dataplane.core import bypass
from dataplane.core.components import components
from dataplane.core.keepalive import gates as keepalive
from dataplane.core.pipeline.loop import UNDECLARED
from dataplane.core.port.declaration import Declaration
from dataplane.core.port.gates import OFFLOAD_GATES
from dataplane.core.port.signals import Event, Gate


@dataclass(frozen=True, slots=True)
class Page:
    """What is on one page. where: what the counters are counted in, as HELP texts say it.

    labels: the name that the operator gave each tenant. versions: of the configuration that each
    tenant is served with. staleness_s: age of the last contact with the configuration's source,
    None before the first.
    """

    sheet: Sheet
    where: str
    version: str
    labels: Mapping[str, str]
    versions: Mapping[str, int]
    staleness_s: float | None


def exposition(page: Page) -> bytes:
    """The page in text format 0.0.4. Slow with many tenants: call it in a thread."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Page(page))
    return generate_latest(registry)


class _Page(Collector):
    def __init__(self, page: Page) -> None:
        self._page = page
        self._sheet = page.sheet
        self._totals = page.sheet.count.totals

    def collect(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from self._gauges()
        yield from self._histograms()
        yield from _components(self._totals, self._scope)
        yield from self._store()
        yield from self._tenants()
        yield from self._configuration()
        yield from self._absent_features()

    @property
    def _scope(self) -> str:
        return (
            f"Counted in {self._page.where} since start, summed over tenants; will not equal the "
            "dashboard, which keeps what earlier processes counted."
        )

    def _counter(self, labelled: Labelled, values: Mapping[str, float]) -> Metric:
        text = f"{labelled.text} {self._scope}"
        family = CounterMetricFamily(labelled.name, text, labels=[labelled.label])
        for value in labelled.values:
            family.add_metric([value], values.get(value, 0))
        return family

    def _counters(self) -> Iterator[Metric]:
        totals, counts = self._totals, self._totals.counts
        values = {**counts, "saved_tokens": counts["tokens_before"] - counts["tokens_after"]}
        for name, (field, text) in names.COUNTERS.items():
            yield CounterMetricFamily(name, f"{text} {self._scope}", value=values.get(field, 0))
        for labelled, fields in names.LABELLED.items():
            found = {value: counts[field] for value, field in fields.items()}
            yield self._counter(labelled, found)
        yield self._counter(names.REFUSED, totals.refused)
        unresolved = {
            reason: sum(totals.unresolved[cause] for cause in causes)
            for reason, causes in names.UNRESOLVED_CAUSES.items()
        }
        yield self._counter(names.UNRESOLVED, unresolved)
        store = self._sheet.count.store
        frozen = {
            "hit": counts["frozen_hits"],
            "miss": counts["frozen_misses"],
            "dropped": store.frozen_dropped,
            "repaired": store.frozen_repaired,
        }
        yield self._counter(names.FROZEN, frozen)

    def _gauges(self) -> Iterator[Metric]:
        counts, means = self._totals.counts, self._totals.means
        before, read = counts["tokens_before"], counts["cache_read_tokens"]
        ratios = {
            "cg_savings_ratio": _ratio(before - counts["tokens_after"], before),
            "cg_cache_hit_ratio": _ratio(read, read + counts["fresh_input_tokens"]),
        }
        averages = {
            name: means[field].value if field in means else 0.0
            for name, field in names.MEANS.items()
        }
        now = {
            "cg_inflight_requests": self._sheet.inflight,
            "cg_snapshots_pinned": self._sheet.pinned,
            "cg_keepalive_spend_usd": float(self._totals.pings_usd),
        }
        for name, value in {**ratios, **averages, **now}.items():
            yield GaugeMetricFamily(name, names.GAUGE_TEXTS[name], value=value)
        build = GaugeMetricFamily("cg_build_info", "1, with the version.", labels=["version"])
        build.add_metric([self._page.version], 1)
        yield build

    def _histograms(self) -> Iterator[Metric]:
        found = self._totals.histograms
        for name, text in names.HISTOGRAMS.items():
            family = HistogramMetricFamily(f"cg_{name}_seconds", f"{text} {self._scope}")
            _observe(family, [], found.get(name), BUCKETS[name])
            yield family
        durations = HistogramMetricFamily(
            "cg_request_duration_seconds",
            f"From the head of a request to its last byte. {self._scope}",
            labels=["route"],
        )
        for route in names.ROUTES:
            histogram = found.get(f"request_duration:{route}")
            _observe(durations, [route], histogram, BUCKETS["request_duration"])
        yield durations

    def _store(self) -> Iterator[Metric]:
        store = self._sheet.count.store
        for name, text in names.STASH.items():
            value = getattr(store, name)
            yield CounterMetricFamily(f"cg_{name}", f"{text} {self._scope}", value=value)
        for unit, live, capacity in (
            ("entries", store.stash_live, store.stash_capacity),
            ("bytes", store.stash_bytes, store.stash_max_bytes),
        ):
            family = GaugeMetricFamily(
                f"cg_stash_reserve_{unit}", f"Originals held, in {unit}.", labels=["state"]
            )
            family.add_metric(["live"], live)
            family.add_metric(["capacity"], capacity)
            yield family

    def _tenants(self) -> Iterator[Metric]:
        labels = self._page.labels
        refused = CounterMetricFamily(
            "cg_tenant_refused_requests",
            "Requests answered with an error of ours, by tenant; only reasons that occurred. "
            f"Counted in {self._page.where} since start.",
            labels=["tenant", "label", "reason"],
        )
        for tenant, reasons in self._sheet.refusals.items():
            for reason, count in reasons.items():
                refused.add_metric([tenant, labels.get(tenant, tenant), reason], count)
        yield refused
        versions = GaugeMetricFamily(
            "cg_config_version",
            "Version of the configuration in force; of the tenants beyond the limit, the lowest.",
            labels=["tenant"],
        )
        for tenant, version in _limited(self._page.versions).items():
            versions.add_metric([tenant], version)
        yield versions

    def _configuration(self) -> Iterator[Metric]:
        yield self._counter(names.NACKS, self._sheet.nacks)
        staleness = self._page.staleness_s
        yield GaugeMetricFamily(
            "cg_config_staleness_seconds",
            "Since the configuration's source last answered; NaN before the first answer.",
            value=float("nan") if staleness is None else staleness,
        )

    def _absent_features(self) -> Iterator[Metric]:
        """What no part of this build does: its series say so by standing at 0."""
        for labelled in names.UNUSED_COUNTERS:
            yield self._counter(labelled, {})
        for name, text in names.UNUSED_GAUGES.items():
            yield GaugeMetricFamily(name, text, value=0)
        for name, text, labels in names.UNUSED_BY_TENANT:
            yield CounterMetricFamily(name, text, labels=labels)
        yield GaugeMetricFamily(
            "cg_rollout_sessions", "Sessions under a rollout.", labels=["tenant", "variant"]
        )


def _components(totals: Totals, scope: str) -> Iterator[Metric]:
    runs = CounterMetricFamily(
        "cg_component_runs",
        "Runs by outcome, nested: acted within mutated within ran; discarded counts changes. "
        + scope,
        labels=["component", "outcome"],
    )
    gates = CounterMetricFamily(
        "cg_component_gate_declines",
        f"Candidates turned away, by gate. {scope}",
        labels=["component", "gate"],
    )
    events = CounterMetricFamily(
        "cg_component_events", f"Things done, by event. {scope}", labels=["component", "event"]
    )
    unique = CounterMetricFamily(
        "cg_component_saved_tokens_unique",
        f"Tokens removed, each text once. {scope}",
        labels=["component"],
    )
    spent = CounterMetricFamily(
        "cg_component_duration_ms", f"Time spent, in ms. {scope}", labels=["component"]
    )
    for name, declaration in components().items():
        found = totals.components.get(name) or ComponentTotals()
        for outcome, field in names.OUTCOMES.items():
            runs.add_metric([name, outcome], found.counts[field])
        for gate in _closed_gates(declaration):
            gates.add_metric([name, gate], found.gates[gate])
        for event in _closed(declaration, declaration.events):
            events.add_metric([name, event], found.events[event])
        unique.add_metric([name], found.counts["saved_tokens_unique"])
        spent.add_metric([name], found.duration_ms)
    for pseudo, ways, counted in (
        ("bypass", bypass.GATES, totals.bypassed),
        ("keepalive", keepalive.GATES, totals.not_kept),
    ):
        for way in ways:
            gates.add_metric([pseudo, way.name], counted[way.name])
    yield from (runs, gates, events, unique, spent)


def _closed_gates(declaration: Declaration) -> list[str]:
    shared = OFFLOAD_GATES if declaration.decide else ()
    return _closed(declaration, (*declaration.gates, *shared))


def _closed(declaration: Declaration, declared: Iterable[Gate | Event]) -> list[str]:
    """The label values that a component may have, the one for undeclared names included."""
    return [*(each.name for each in declared), *([UNDECLARED] if declaration.decide else [])]


def _observe(
    family: HistogramMetricFamily,
    labels: list[str],
    found: Histogram | None,
    bounds: tuple[float, ...],
) -> None:
    histogram = found or Histogram()
    ends = [*(str(float(bound)) for bound in bounds), "+Inf"]
    counts = accumulate(histogram.counts[place] for place in range(len(ends)))
    family.add_metric(labels, list(zip(ends, counts, strict=True)), histogram.total_s)


def _limited(versions: Mapping[str, int]) -> dict[str, int]:
    tenants = sorted(versions)
    named = {tenant: versions[tenant] for tenant in tenants[:TENANTS_MAX]}
    others = [versions[tenant] for tenant in tenants[TENANTS_MAX:]]
    return {**named, OTHER: min(others)} if others else named


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
