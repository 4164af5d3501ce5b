"""The Prometheus page of this process, built from the totals and the declarations.

Everything is computed when the page is read; the request path only counts.
Source: 03-proxy-and-recovery.md 6.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dataplane.adapters.telemetry import Totals
from dataplane.core import bypass
from dataplane.core.components import components
from dataplane.core.gates import OFFLOAD_GATES
from dataplane.core.wire.refusal import REFUSALS

if TYPE_CHECKING:
    from dataplane.adapters.node import Node

_SCOPE = "Counted in this process since its start, summed over tenants."
_PLAIN = {
    "cg_requests": ("requests", "Requests that the pipeline ran on."),
    "cg_tokens_before": ("tokens_before", "Content tokens as they arrived."),
    "cg_tokens_after": ("tokens_after", "Content tokens as they were forwarded."),
    "cg_saved_tokens_unique": ("saved_tokens_unique", "Tokens removed, each text once."),
    "cg_expand_bounces": ("bounces", "Originals given back to the model."),
    "cg_wasted_tokens": ("wasted_tokens", "Tokens of those originals."),
    "cg_adjudicate_stray": ("adjudicate_stray", "Verdict tool calls made by an agent."),
    "cg_usage_unparsed": ("usage_unparsed", "Responses whose usage has an unknown form."),
    "cg_usage_unreadable": ("usage_unreadable", "Responses whose usage could not be read."),
    "cg_client_disconnects": ("client_disconnects", "Clients that went away early."),
    "cg_rewrite_failures": ("rewrite_failures", "Requests sent as they came after a fault."),
}
_TIERS = {
    "fresh_input": "fresh_input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "output": "output_tokens",
}
_UNRESOLVED = {
    "malformed": ("malformed",),
    "missing": ("expired", "lost", "store_error"),
    "never_minted": ("never_minted", "deleted"),
    "foreign_session": ("foreign_session",),
}
_STASH = ("refused", "missing", "expired", "revived")


def exposition(node: Node) -> bytes:
    """The page in text format 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_NodeCollector(node))
    return generate_latest(registry)


class _NodeCollector(Collector):
    def __init__(self, node: Node) -> None:
        self._node = node

    def collect(self) -> Iterator[Metric]:
        totals = self._node.telemetry.total()
        for name, (field, text) in _PLAIN.items():
            yield CounterMetricFamily(name, f"{text} {_SCOPE}", value=totals.counts[field])
        saved = totals.counts["tokens_before"] - totals.counts["tokens_after"]
        yield CounterMetricFamily("cg_saved_tokens", f"Tokens not sent. {_SCOPE}", value=saved)
        yield _labelled(
            "cg_billed_tokens",
            "Tokens that providers billed, all rounds.",
            "tier",
            {tier: totals.counts[field] for tier, field in _TIERS.items()},
        )
        yield _labelled(
            "cg_expand_unresolved",
            "Recovery calls without an original; missing must stay 0.",
            "reason",
            {
                reason: sum(totals.unresolved[cause] for cause in causes)
                for reason, causes in _UNRESOLVED.items()
            },
        )
        yield _labelled(
            "cg_refused_requests",
            "Requests answered with an error of ours.",
            "reason",
            {r.counted: totals.refused[r.counted] for r in REFUSALS.values() if r.counted},
        )
        yield _labelled(
            "cg_sse_streams",
            "Streams: the client read along, or waited for a recovery.",
            "path",
            {name: totals.counts[f"sse_{name}"] for name in ("streamed", "buffered")},
        )
        yield from _components(totals)
        yield from self._store()
        yield GaugeMetricFamily(
            "cg_inflight_requests", "Requests in this process now.", value=self._node.inflight
        )

    def _store(self) -> Iterator[Metric]:
        store: Any = self._node.store.stats(None)
        for name in _STASH:
            value = getattr(store, f"stash_{name}")
            yield CounterMetricFamily(f"cg_stash_{name}", f"Stash, {name}. {_SCOPE}", value=value)
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


def _components(totals: Totals) -> Iterator[Metric]:
    runs = CounterMetricFamily(
        "cg_component_runs", f"Runs by outcome. {_SCOPE}", labels=["component", "outcome"]
    )
    gates = CounterMetricFamily(
        "cg_component_gate_declines",
        f"Candidates turned away, by gate. {_SCOPE}",
        labels=["component", "gate"],
    )
    events = CounterMetricFamily(
        "cg_component_events", f"Things done, by event. {_SCOPE}", labels=["component", "event"]
    )
    for name, declaration in components().items():
        found = totals.components.get(name)
        counts = found.counts if found else {}
        for outcome, field in (
            ("ran", "runs"),
            ("acted", "acted"),
            ("mutated", "mutated"),
            ("discarded", "discarded_changes"),
            ("reverted", "reverted"),
        ):
            runs.add_metric([name, outcome], counts.get(field, 0))
        declared = (*declaration.gates, *(OFFLOAD_GATES if declaration.decide else ()))
        closed = {gate.name: 0 for gate in declared}
        for gate, count in {**closed, **(found.gates if found else {})}.items():
            gates.add_metric([name, gate], count)
        happened = {event.name: 0 for event in declaration.events}
        for event, count in {**happened, **(found.events if found else {})}.items():
            events.add_metric([name, event], count)
    for gate_ in bypass.GATES:
        gates.add_metric(["bypass", gate_.name], totals.bypassed[gate_.name])
    yield from (runs, gates, events)


def _labelled(name: str, text: str, label: str, values: dict[str, int]) -> Metric:
    family = CounterMetricFamily(name, f"{text} {_SCOPE}", labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family
