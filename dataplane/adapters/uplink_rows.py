"""What a finished request becomes in a report: a row of numbers, and how far counters moved.

Source: 03-proxy-and-recovery.md 9.9; 04-controlplane-and-dashboard.md 1.6.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dataplane.adapters.totals import Totals
from dataplane.core.record import Record
from dataplane.core.report import RunReport, StepReport
from dataplane.core.spread import slot_of
from dataplane.core.uplink import (
    ComponentDelta,
    ComponentRow,
    Delta,
    MarkerRow,
    RecoveryRow,
    RequestRow,
)

MARKERS_MAX = 32
RECOVERIES_MAX = 16
NAME_MAX = 128
REPORTED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Finished:
    """A change of counters, with the request behind it if there was one. bucket_at: ms."""

    bucket_at: int
    tenant: str
    change: Totals
    record: Record | None = None

    @property
    def arm(self) -> str:
        return self.record.arm if self.record is not None else "base"


class Reported:
    """Markers that were reported already; whichever was longest ago is forgotten first."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    def is_new(self, tenant: str, marker_id: str) -> bool:
        """True at the first time of asking."""
        key = (tenant, marker_id)
        if key in self._known:
            return False
        self._known[key] = None
        if len(self._known) > REPORTED_MAX:
            self._known.popitem(last=False)
        return True


@dataclass(slots=True)
class Moved:
    """How far one tenant's and arm's counters moved within one bucket."""

    totals: Totals = field(default_factory=Totals)
    gate_requests: dict[str, Counter[str]] = field(default_factory=dict)
    event_requests: dict[str, Counter[str]] = field(default_factory=dict)
    spreads: dict[str, Counter[int]] = field(default_factory=dict)
    added: Counter[int] = field(default_factory=Counter)
    upstream: Counter[int] = field(default_factory=Counter)

    def take(self, finished: Finished) -> None:
        self.totals.merge(finished.change)
        record = finished.record
        if record is None:
            return
        if record.report is not None and record.added_ms is not None:
            self.added[slot_of(record.added_ms)] += 1
        if record.upstream_ms is not None:
            self.upstream[slot_of(record.upstream_ms)] += 1
        for step in record.report.steps if record.report else ():
            _raised(self.gate_requests, step.component, step.gates)
            _raised(self.event_requests, step.component, step.events)
            slots = self.spreads.setdefault(step.component, Counter())
            slots[slot_of(step.duration_ms)] += 1

    def merge(self, other: Moved) -> None:
        self.totals.merge(other.totals)
        _join(self.gate_requests, other.gate_requests)
        _join(self.event_requests, other.event_requests)
        for name, slots in other.spreads.items():
            self.spreads.setdefault(name, Counter()).update(slots)
        self.added.update(other.added)
        self.upstream.update(other.upstream)

    def delta(self, bucket_at: int, tenant: str, arm: str) -> Delta:
        totals = self.totals
        return Delta(
            bucket_at=bucket_at,
            tenant=tenant,
            arm=arm,
            counts=_moved(totals.counts),
            unresolved=_moved(totals.unresolved),
            bypassed=_moved(totals.bypassed),
            refused=_moved(totals.refused),
            components={name: self._component(name) for name in totals.components},
            billed_usd=str(totals.billed_usd),
            added=dict(self.added),
            upstream=dict(self.upstream),
        )

    def _component(self, name: str) -> ComponentDelta:
        counted = self.totals.components[name]
        return ComponentDelta(
            counts=_moved(counted.counts),
            gates=_moved(counted.gates),
            events=_moved(counted.events),
            gate_requests=dict(self.gate_requests.get(name, {})),
            event_requests=dict(self.event_requests.get(name, {})),
            duration_ms=counted.duration_ms,
            spread=dict(self.spreads.get(name, {})),
        )


def _raised(requests: dict[str, Counter[str]], component: str, signals: Counter[str]) -> None:
    """Several raises of one name on one request are one request."""
    names = [name for name, count in signals.items() if count]
    if names:
        requests.setdefault(component, Counter()).update(names)


def _join(requests: dict[str, Counter[str]], more: dict[str, Counter[str]]) -> None:
    for component, names in more.items():
        requests.setdefault(component, Counter()).update(names)


def _moved(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def row_of(record: Record, change: Totals, reported: Reported) -> RequestRow:
    """The row of a request. change: what it came to in the counters."""
    report = record.report
    return RequestRow(
        request_id=record.request_id,
        at=int(record.at * 1000),
        route=record.route,
        provider=record.dialect,
        tenant=record.tenant,
        session=record.session[:NAME_MAX],
        thread=record.thread[:NAME_MAX],
        model=record.model[:NAME_MAX],
        snapshot=record.snapshot,
        variant=record.variant,
        arm=record.arm,
        **_outcome(record),
        **_tokens(record),
        **_durations(record),
        saved_unique=change.counts["saved_tokens_unique"],
        expands=record.recoveries.bounces,
        expand_tokens=record.recoveries.wasted_tokens,
        replayed=change.counts["frozen_hits"],
        components=[_step(step, change) for step in report.steps] if report else [],
        minted=list(_minted(record, report, reported)) if report else [],
        recoveries=_recoveries(record),
    )


def _outcome(record: Record) -> dict[str, Any]:
    return {
        "status": record.status,
        "outcome": record.outcome,
        "error_type": record.error_type[:64],
        "bypassed": record.bypassed,
        "cache_phase": record.cache_phase,
        "pristine_resend": record.pristine_resend,
        "streamed": record.streamed,
        "buffered": record.buffered,
        "compacted": record.compacted,
        "rewrite_failed": record.rewrite_failed,
        "rounds": record.rounds,
    }


def _tokens(record: Record) -> dict[str, Any]:
    usage, report = record.usage, record.report
    return {
        "shaped": report is not None,
        "tokens_before": report.tokens_before if report else 0,
        "tokens_after": report.tokens_after if report else 0,
        "attempted": report.attempted if report else 0,
        "usage_known": usage is not None,
        "usage_miss": next(iter(record.usage_misses), ""),
        **(dataclasses.asdict(usage) if usage else {}),
        "cost_usd": None if record.cost_usd is None else str(record.cost_usd),
    }


def _durations(record: Record) -> dict[str, Any]:
    return {
        "added_ms": record.added_ms,
        "upstream_ms": record.upstream_ms,
        "first_byte_ms": record.first_byte_ms,
        "serve_ms": record.serve_ms,
    }


def _step(step: StepReport, change: Totals) -> ComponentRow:
    counts = change.component(step.component).counts
    return ComponentRow(
        component=step.component,
        kind=step.kind.value,
        acted=step.acted,
        acted_replay=step.acted and step.fresh_saved <= 0,
        mutated=step.mutated,
        reverted=step.reverted,
        skipped=step.skipped,
        discarded=step.discarded,
        saved=0 if step.reverted else step.saved,
        saved_unique=counts["saved_tokens_unique"],
        duration_ms=step.duration_ms,
        error=step.error[:NAME_MAX],
        gates=_moved(step.gates),
        events=_moved(step.events),
    )


def _minted(record: Record, report: RunReport, reported: Reported) -> Iterator[MarkerRow]:
    """Markers of this request that are new to the reports; what finds no room comes next time."""
    room = MARKERS_MAX
    for step in report.steps:
        for key, saved in step.keys.items():
            if not room:
                return
            if ":" not in key and reported.is_new(record.tenant, key):
                room -= 1
                yield MarkerRow(key, step.component, saved)


def _recoveries(record: Record) -> list[RecoveryRow]:
    """The calls that got nothing first: they are the ones that must not be cut off."""
    found = record.recoveries
    missed = [RecoveryRow(each.marker_id, each.found) for each in found.missed]
    given = [RecoveryRow(marker_id, "resolved") for marker_id in found.given]
    return (missed + given)[:RECOVERIES_MAX]
