"""Counters of this process, per tenant, and the views of them that /stats shows.

One dictionary update per finished request; everything derived is computed when it is read.
Source: 03-proxy-and-recovery.md 6.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dataplane.core.effects import Found
from dataplane.core.expand import tool
from dataplane.core.expand.recovery import Repaired
from dataplane.core.record import Record
from dataplane.core.report import StepReport

UNIQUE_KEYS_MAX = 200_000
_MISSING = ("expired", "lost", "store_error")


@dataclass(slots=True)
class Mean:
    """A running mean."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float | None) -> None:
        if value is not None:
            self.total += value
            self.count += 1

    def merge(self, other: Mean) -> None:
        self.total += other.total
        self.count += other.count

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class ComponentTotals:
    """One component over all requests of a tenant; counts is by the field names of /stats."""

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
    """Everything counted for one tenant since the process started."""

    counts: Counter[str] = field(default_factory=Counter)
    unresolved: Counter[str] = field(default_factory=Counter)
    bypassed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    components: dict[str, ComponentTotals] = field(default_factory=dict)
    means: dict[str, Mean] = field(default_factory=dict)
    billed_usd: Decimal = Decimal(0)
    seen: dict[str, None] = field(default_factory=dict)

    def merge(self, other: Totals) -> None:
        """Add another tenant's totals; which keys were seen stays with each tenant."""
        for mine, theirs in (
            (self.counts, other.counts),
            (self.unresolved, other.unresolved),
            (self.bypassed, other.bypassed),
            (self.refused, other.refused),
        ):
            mine.update(theirs)
        for name, component in other.components.items():
            self.components.setdefault(name, ComponentTotals()).merge(component)
        for name, mean in other.means.items():
            self.means.setdefault(name, Mean()).merge(mean)
        self.billed_usd += other.billed_usd

    # ---- taking a request in --------------------------------------------------------------

    def add(self, record: Record) -> None:
        self.counts["all_requests"] += 1
        self.counts[f"outcome_{record.outcome}"] += 1
        if record.bypassed:
            self.bypassed[record.bypassed] += 1
        self._add_report(record)
        self._add_usage(record)
        self._add_response(record)
        recoveries = record.recoveries
        self.counts["bounces"] += recoveries.bounces
        self.counts["wasted_tokens"] += recoveries.wasted_tokens
        self.counts["adjudicate_stray"] += recoveries.strays
        self.counts["expand_oversize"] += recoveries.oversize
        self.unresolved.update(recoveries.unresolved)
        for repaired in recoveries.repaired:
            self._add_repair(f"{record.session}:{repaired.call_id}", repaired)

    def _add_repair(self, known: str, repaired: Repaired) -> None:
        """A repair is the same on every later turn of its session and counts once."""
        if known in self.seen:
            return
        self._remember(known)
        if repaired.found == Found.RESOLVED.value:
            self.counts["bounces"] += 1
            self.counts["wasted_tokens"] += repaired.tokens
        elif repaired.found == tool.ADJUDICATE:
            self.counts["adjudicate_stray"] += 1
        else:
            self.unresolved[repaired.found] += 1

    def _remember(self, known: str) -> None:
        self.seen[known] = None
        if len(self.seen) > UNIQUE_KEYS_MAX:
            self.seen.pop(next(iter(self.seen)))

    def _add_report(self, record: Record) -> None:
        report = record.report
        self.counts["compaction_resets"] += record.compacted
        self.counts["rewrite_failures"] += record.rewrite_failed
        if report is None:
            return
        self.counts["requests"] += 1
        self.counts["tokens_before"] += report.tokens_before
        self.counts["tokens_after"] += report.tokens_after
        self.counts["attempted_tokens"] += report.attempted
        for step in report.steps:
            self._add_step(step)

    def _add_step(self, step: StepReport) -> None:
        totals = self.components.setdefault(step.component, ComponentTotals())
        unique = 0 if step.reverted else self._unique(step)
        saved = 0 if step.reverted else step.saved
        self.counts["saved_tokens_unique"] += unique
        self.counts["frozen_hits"] += step.replays
        totals.duration_ms += step.duration_ms
        totals.gates.update(step.gates)
        totals.events.update(step.events)
        totals.counts.update(
            runs=1,
            acted=int(step.acted),
            acted_fresh=int(step.acted and step.fresh_saved > 0),
            acted_replay=int(step.acted and step.fresh_saved <= 0),
            mutated=int(step.mutated),
            reverted=int(step.reverted),
            saved_tokens=saved,
            saved_tokens_unique=unique,
            discarded_changes=step.discarded,
        )

    def _unique(self, step: StepReport) -> int:
        """Tokens saved on texts that this tenant's counters have not seen yet."""
        unique = 0
        for key, saved in step.keys.items():
            known = f"{step.component}:{key}"
            if known not in self.seen:
                self._remember(known)
                unique += saved
        return max(0, unique)

    def _add_usage(self, record: Record) -> None:
        self.counts.update(record.usage_misses)
        self.counts["upstream_rounds"] += record.rounds
        if record.usage is None:
            return
        self.counts["fresh_input_tokens"] += record.usage.fresh_input
        self.counts["cache_read_tokens"] += record.usage.cache_read
        self.counts["cache_write_tokens"] += record.usage.cache_write
        self.counts["cache_write_1h_tokens"] += record.usage.cache_write_1h
        self.counts["output_tokens"] += record.usage.output
        if record.cost_usd is None:
            self.counts["unpriced_requests"] += 1
        else:
            self.counts["priced_requests"] += 1
            self.billed_usd += record.cost_usd

    def _add_response(self, record: Record) -> None:
        self.counts["sse_streamed"] += record.streamed and not record.buffered
        self.counts["sse_buffered"] += record.streamed and record.buffered
        self.counts["sse_expand_after_stream"] += record.expand_after_stream
        self.counts["client_disconnects"] += record.outcome == "client_disconnect"
        if record.report is not None:
            self._mean("cg_added_ms").add(record.added_ms)
        self._mean("upstream_ms_bypassed" if record.bypassed else "upstream_ms").add(
            record.upstream_ms
        )
        if record.streamed:
            name = "sse_ttfb_ms_buffered" if record.buffered else "sse_ttfb_ms"
            self._mean(name).add(record.first_byte_ms)

    def _mean(self, name: str) -> Mean:
        return self.means.setdefault(name, Mean())


class Telemetry:
    """The totals of every tenant; "" collects what belongs to none."""

    def __init__(self) -> None:
        self._tenants: dict[str, Totals] = {}

    def add(self, record: Record) -> None:
        self.of(record.tenant).add(record)

    def refuse(self, reason: str, tenant: str = "") -> None:
        if reason:
            self.of(tenant).refused[reason] += 1

    def of(self, tenant: str) -> Totals:
        return self._tenants.setdefault(tenant, Totals())

    def total(self) -> Totals:
        everything = Totals()
        for totals in self._tenants.values():
            everything.merge(totals)
        return everything


def percent(part: int, whole: int) -> float:
    return round(part / whole * 100, 4) if whole else 0.0


def stats_of(totals: Totals) -> dict[str, Any]:
    """The fields of /stats that come from counting requests; store and node fields join later."""
    counts = totals.counts
    saved = counts["tokens_before"] - counts["tokens_after"]
    newly_billed = counts["fresh_input_tokens"] + counts["cache_write_tokens"]
    streams = counts["sse_streamed"] + counts["sse_buffered"]
    return {
        "requests": counts["requests"],
        "all_requests": counts["all_requests"],
        "tokens_before": counts["tokens_before"],
        "tokens_after": counts["tokens_after"],
        "saved_tokens": saved,
        "saved_tokens_unique": counts["saved_tokens_unique"],
        "savings_pct": percent(saved, counts["tokens_before"]),
        "wasted_tokens": counts["wasted_tokens"],
        "bounces": counts["bounces"],
        "adjusted_saved": saved - counts["wasted_tokens"],
        "components": {name: _component(each) for name, each in totals.components.items()},
        "bypassed": dict(totals.bypassed),
        "refused": dict(totals.refused),
        "attempted_tokens": counts["attempted_tokens"],
        "frozen_tokens": counts["tokens_before"] - counts["attempted_tokens"],
        "savings_pct_attempted": percent(saved, counts["attempted_tokens"]),
        "savings_pct_new_input": percent(saved, newly_billed + saved) if newly_billed else 0.0,
        **_counted(totals, _BILLED),
        "billed_usd": str(totals.billed_usd) if counts["priced_requests"] else None,
        **_means(totals),
        **_counted(totals, _RESPONSES),
        "sse_buffered_pct": percent(counts["sse_buffered"], streams),
        **_counted(totals, _HEALTH),
        **_unresolved(totals.unresolved),
    }


_BILLED = (
    "fresh_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "usage_unparsed",
    "usage_unreadable",
    "priced_requests",
    "unpriced_requests",
    "upstream_rounds",
)
_RESPONSES = ("sse_streamed", "sse_buffered", "sse_expand_after_stream", "client_disconnects")
_HEALTH = (
    "compaction_resets",
    "adjudicate_stray",
    "expand_oversize",
    "rewrite_failures",
    "frozen_hits",
)
_COMPONENT = (
    "runs",
    "acted",
    "acted_fresh",
    "acted_replay",
    "mutated",
    "reverted",
    "saved_tokens",
    "saved_tokens_unique",
    "discarded_changes",
)


def _counted(totals: Totals, names: Iterable[str]) -> dict[str, int]:
    return {name: totals.counts[name] for name in names}


def _means(totals: Totals) -> dict[str, float]:
    empty = Mean()
    return {
        field_name: round(totals.means.get(name, empty).value, 3)
        for field_name, name in (
            ("cg_added_ms_avg", "cg_added_ms"),
            ("upstream_ms_avg", "upstream_ms"),
            ("upstream_ms_avg_bypassed", "upstream_ms_bypassed"),
            ("sse_ttfb_ms_avg", "sse_ttfb_ms"),
            ("sse_ttfb_ms_avg_buffered", "sse_ttfb_ms_buffered"),
        )
    }


def _unresolved(found: Counter[str]) -> dict[str, Any]:
    by_cause = {cause: found[cause] for cause in _MISSING}
    return {
        "expand_unresolved_malformed": found["malformed"],
        "expand_unresolved_missing": sum(by_cause.values()),
        "expand_unresolved_missing_by": by_cause,
        "expand_unresolved_never_minted": found["never_minted"] + found["deleted"],
        "expand_unresolved_foreign_session": found["foreign_session"],
    }


def _component(totals: ComponentTotals) -> dict[str, Any]:
    counts = totals.counts
    unique = counts["saved_tokens_unique"]
    return {
        **{name: counts[name] for name in _COMPONENT},
        "overcount_ratio": round(counts["saved_tokens"] / unique, 4) if unique else 0.0,
        "duration_ms": round(totals.duration_ms, 3),
        "verdict": _verdict(counts),
        "gates": dict(totals.gates),
        "events": dict(totals.events),
    }


def _verdict(counts: Counter[str]) -> str:
    if counts["acted"]:
        return "acted"
    if counts["mutated"]:
        return "moved"
    return "skipped" if counts["runs"] else "idle"
