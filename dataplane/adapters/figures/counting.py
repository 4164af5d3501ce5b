"""What finished requests come to in counters.

Source: 03-proxy-and-recovery.md 6.1; 04-controlplane-and-dashboard.md 1.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from dataplane.adapters.figures.totals import ComponentTotals, Totals
from dataplane.core.expand.endings import counted_as
from dataplane.core.port.report import RunReport, StepReport
from dataplane.core.prices.money import saving
from dataplane.core.record import Record
from dataplane.core.spread import slot_of

GENERATION = 50_000


class Seen:
    """The texts that one component's savings were credited for; the oldest are forgotten.

    They are forgotten a whole generation at a time, which costs no request a search.
    """

    def __init__(self) -> None:
        self._new: set[str] = set()
        self._old: set[str] = set()

    def is_new(self, key: str) -> bool:
        """True at the first time of asking."""
        if key in self._new:
            return False
        if len(self._new) >= GENERATION:
            self._old, self._new = self._new, set()
        self._new.add(key)
        return key not in self._old


@dataclass(slots=True)
class Moved:
    """How far the counters of one tenant and arm moved within some time.

    gate_requests, event_requests: by component, the requests on which a name was raised. spreads:
    runs of a component by the slot of their duration; added, upstream: requests by slot.
    """

    totals: Totals = field(default_factory=Totals)
    gate_requests: dict[str, Counter[str]] = field(default_factory=dict)
    event_requests: dict[str, Counter[str]] = field(default_factory=dict)
    spreads: dict[str, Counter[int]] = field(default_factory=dict)
    added: Counter[int] = field(default_factory=Counter)
    upstream: Counter[int] = field(default_factory=Counter)

    def count(self, record: Record, seen: dict[str, Seen]) -> None:
        """Add one request. seen: what its tenant was credited for, by component."""
        if record.ping:
            _count_ping(self.totals, record)
            return
        self._count_report(record, seen)
        _count_usage(self.totals, record)
        self._count_response(record)
        _count_recoveries(self.totals, record)

    def project(self, report: RunReport, overhead_ms: float, seen: dict[str, Seen]) -> None:
        """Add what mode sync would have made of a request, apart from what was made of any."""
        totals = self.totals
        totals.counts["observe_hypothetical_requests"] += 1
        totals.counts["actual_baseline_tokens"] += report.tokens_before
        totals.counts["projected_optimized_tokens"] += report.tokens_after
        totals.mean("potential_overhead_ms").add(overhead_ms)
        for step in report.steps:
            step.unique = _unique(step, seen)
            _count_step(totals.potential.setdefault(step.component, ComponentTotals()), step)

    def merge(self, other: Moved) -> None:
        """Add what other requests came to."""
        self.totals.merge(other.totals)
        _join(self.gate_requests, other.gate_requests)
        _join(self.event_requests, other.event_requests)
        for name, slots in other.spreads.items():
            self.spreads.setdefault(name, Counter()).update(slots)
        self.added.update(other.added)
        self.upstream.update(other.upstream)

    def _count_report(self, record: Record, seen: dict[str, Seen]) -> None:
        totals, report = self.totals, record.report
        counts = totals.counts
        counts["all_requests"] += 1
        counts["outcome_" + record.outcome] += 1
        counts["compaction_resets"] += record.compacted
        counts["rewrite_failures"] += record.rewrite_failed
        if record.bypassed:
            totals.bypassed[record.bypassed] += 1
        if report is None:
            return
        counts["requests"] += 1
        counts["tokens_before"] += report.tokens_before
        counts["tokens_after"] += report.tokens_after
        counts["attempted_tokens"] += report.attempted
        for step in report.steps:
            step.unique = _unique(step, seen)
            self._count_step(step)

    def _count_step(self, step: StepReport) -> None:
        counts = self.totals.counts
        counts["saved_tokens_unique"] += step.unique
        counts["frozen_hits"] += step.replays
        counts["frozen_misses"] += step.misses
        counts["expand_prefix_flips"] += step.abandoned
        _count_step(self.totals.component(step.component), step)
        if step.gates:
            _raised(self.gate_requests, step.component, step.gates)
        if step.events:
            _raised(self.event_requests, step.component, step.events)
        slots = self.spreads.setdefault(step.component, Counter())
        slots[slot_of(step.duration_ms)] += 1

    def _count_response(self, record: Record) -> None:
        totals = self.totals
        counts = totals.counts
        if record.streamed:
            counts["sse_buffered" if record.buffered else "sse_streamed"] += 1
        counts["sse_expand_after_stream"] += record.expand_after_stream
        counts["client_disconnects"] += record.outcome == "client_disconnect"
        if record.pristine_resend:
            counts["pristine_" + record.pristine_resend] += 1
        totals.observe("request_duration", record.serve_ms, record.route)
        if record.report is not None and record.added_ms is not None:
            totals.observe("added", record.added_ms)
            totals.mean("cg_added_ms").add(record.added_ms)
            self.added[slot_of(record.added_ms)] += 1
        if record.upstream_ms is not None:
            self._count_upstream(record, record.upstream_ms)

    def _count_upstream(self, record: Record, upstream_ms: float) -> None:
        totals = self.totals
        totals.observe("upstream_first_byte", upstream_ms)
        totals.mean("upstream_ms_bypassed" if record.bypassed else "upstream_ms").add(upstream_ms)
        self.upstream[slot_of(upstream_ms)] += 1
        if record.streamed and record.first_byte_ms is not None:
            name = "sse_ttfb_ms_buffered" if record.buffered else "sse_ttfb_ms"
            totals.mean(name).add(upstream_ms + record.first_byte_ms)


def _unique(step: StepReport, seen: dict[str, Seen]) -> int:
    """Tokens saved on texts that nobody was credited for; all of them where no text has a key."""
    if step.reverted:
        return 0
    if not step.keys:
        return step.saved
    credited = seen.setdefault(step.component, Seen())
    return max(0, sum(saved for key, saved in step.keys.items() if credited.is_new(key)))


def _count_step(component: ComponentTotals, step: StepReport) -> None:
    component.duration_ms += step.duration_ms
    if step.gates:
        component.gates.update(step.gates)
    if step.events:
        component.events.update(step.events)
    _count_run(component.counts, step)


def _count_run(counts: Counter[str], step: StepReport) -> None:
    acted = step.acted
    counts["runs"] += 1
    counts["acted"] += acted
    counts["acted_fresh"] += acted and step.fresh_saved > 0
    counts["acted_replay"] += acted and step.fresh_saved <= 0
    counts["mutated"] += step.mutated
    counts["reverted"] += step.reverted
    counts["saved_tokens"] += 0 if step.reverted else step.saved
    counts["saved_tokens_unique"] += step.unique
    counts["discarded_changes"] += step.discarded


def _count_usage(totals: Totals, record: Record) -> None:
    counts, usage = totals.counts, record.usage
    if record.usage_misses:
        counts.update(record.usage_misses)
    counts["upstream_rounds"] += record.rounds
    if usage is None:
        return
    counts["usage_estimated"] += record.usage_estimated
    counts["fresh_input_tokens"] += usage.fresh_input
    counts["cache_read_tokens"] += usage.cache_read
    counts["cache_write_tokens"] += usage.cache_write
    counts["cache_write_1h_tokens"] += usage.cache_write_1h
    counts["output_tokens"] += usage.output
    if record.cost_usd is None:
        counts["unpriced_requests"] += 1
    else:
        counts["priced_requests"] += 1
        totals.billed_usd += record.cost_usd
        record.saved_usd = _saved_usd(record)
        totals.saved_usd += record.saved_usd


def _saved_usd(record: Record) -> Decimal:
    """Of a request that is priced and whose steps know what they are credited for."""
    steps = record.report.steps if record.report else ()
    spared = (
        saving(gross=step.saved, unique=step.unique, usage=record.usage, rates=record.rates)
        for step in steps
        if not step.reverted
    )
    return sum(filter(None, spared), Decimal(0))


def _count_ping(totals: Totals, record: Record) -> None:
    """A ping is spend and nothing else: no figure about requests contains it."""
    counts, usage = totals.counts, record.usage
    counts["keepalive_pings"] += 1
    counts["keepalive_" + record.ping] += 1
    if usage is not None:
        counts["keepalive_cache_read_tokens"] += usage.cache_read
        counts["keepalive_cache_write_tokens"] += usage.cache_write
    if record.cost_usd is not None:
        totals.billed_usd += record.cost_usd
        totals.pings_usd += record.cost_usd


def _count_recoveries(totals: Totals, record: Record) -> None:
    recoveries, counts = record.recoveries, totals.counts
    if recoveries.unresolved:
        totals.unresolved.update(recoveries.unresolved)
    counts["bounces"] += recoveries.bounces
    counts["wasted_tokens"] += recoveries.wasted_tokens
    counts["adjudicate_stray"] += recoveries.strays
    counts["expand_oversize"] += recoveries.oversize
    if record.ending:
        counts[counted_as(record.ending)] += 1


def _raised(requests: dict[str, Counter[str]], component: str, signals: Counter[str]) -> None:
    """Several raises of one name on one request are one request."""
    names: Iterable[str] = [name for name, count in signals.items() if count]
    if names:
        requests.setdefault(component, Counter()).update(names)


def _join(requests: dict[str, Counter[str]], more: dict[str, Counter[str]]) -> None:
    for component, names in more.items():
        requests.setdefault(component, Counter()).update(names)
