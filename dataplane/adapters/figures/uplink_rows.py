"""What a finished request becomes in a report: a row of numbers, and how far counters moved.

Source: 03-proxy-and-recovery.md 9.9; 04-controlplane-and-dashboard.md 1.6.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from dataplane.adapters.figures.counting import Moved
from dataplane.adapters.figures.totals import Mean
from dataplane.core.pipeline.rewritten import text_rows
from dataplane.core.port.report import RunReport, StepReport
from dataplane.core.record import Record
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


def delta_of(moved: Moved, *, bucket_at: int, tenant: str, arm: str) -> Delta:
    """bucket_at: ms."""
    totals = moved.totals
    return Delta(
        bucket_at=bucket_at,
        tenant=tenant,
        arm=arm,
        counts={**_moved(totals.counts), **_means(totals.means)},
        unresolved=_moved(totals.unresolved),
        bypassed=_moved(totals.bypassed),
        refused=_moved(totals.refused),
        components={name: _component(moved, name) for name in totals.components},
        billed_usd=str(totals.billed_usd),
        saved_usd=str(totals.saved_usd),
        pings_usd=str(totals.pings_usd),
        rescued_usd=str(totals.rescued_usd),
        added=dict(moved.added),
        upstream=dict(moved.upstream),
    )


def _means(means: Mapping[str, Mean]) -> dict[str, int]:
    """What a mean over several processes is made of: NAME_sum in ms, and NAME_n."""
    found = ((name, mean) for name, mean in means.items() if mean.count)
    sums = {name: (round(mean.total), mean.count) for name, mean in found}
    return {
        f"{name}_{part}": number
        for name, both in sums.items()
        for part, number in zip(("sum", "n"), both, strict=True)
    }


def _component(moved: Moved, name: str) -> ComponentDelta:
    counted = moved.totals.components[name]
    return ComponentDelta(
        counts=_moved(counted.counts),
        gates=_moved(counted.gates),
        events=_moved(counted.events),
        gate_requests=dict(moved.gate_requests.get(name, {})),
        event_requests=dict(moved.event_requests.get(name, {})),
        duration_ms=counted.duration_ms,
        spread=dict(moved.spreads.get(name, {})),
    )


def _moved(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


# Fields that a row takes over from the record as they are; one call reads them all.
_SAME = (
    *("request_id", "route", "tenant", "snapshot", "variant", "arm", "origin", "status", "outcome"),
    *("bypassed", "cache_phase", "pristine_resend", "streamed", "buffered", "compacted"),
    *("rewrite_failed", "ending", "rounds", "usage_estimated", "priced_by", "captured"),
    *("added_ms", "upstream_ms", "first_byte_ms", "serve_ms"),
)
_same = attrgetter(*_SAME)


def row_of(record: Record, reported: Reported) -> RequestRow:
    """The row of a request that was counted."""
    report, usage = record.report, record.usage
    steps = report.steps if report else ()
    texts = text_rows(record.rewritten)
    taken: dict[str, Any] = dict(zip(_SAME, _same(record), strict=True))
    taken |= _tokens_of(report)
    taken |= usage.tokens if usage is not None else {}
    return RequestRow(
        **taken,
        at=int(record.at * 1000),
        provider=record.dialect,
        session=record.session[:NAME_MAX],
        thread=record.thread[:NAME_MAX],
        model=record.model[:NAME_MAX],
        error_type=record.error_type[:64],
        shaped=report is not None,
        usage_known=usage is not None,
        usage_miss=next(iter(record.usage_misses), ""),
        cost_usd=None if record.cost_usd is None else str(record.cost_usd),
        saved_usd=None if record.saved_usd is None else str(record.saved_usd),
        saved_unique=sum([step.unique for step in steps]),
        expands=record.recoveries.bounces,
        expand_tokens=record.recoveries.wasted_tokens,
        replayed=sum([step.replays for step in steps]),
        components=[_step(step) for step in steps],
        minted=list(_minted(record, report, reported)) if report else [],
        recoveries=_recoveries(record),
        texts=texts,
        texts_left_out=record.texts_left_out + len(record.rewritten) - len(texts),
    )


def _tokens_of(report: RunReport | None) -> dict[str, int]:
    if report is None:
        return {}
    return {
        "tokens_before": report.tokens_before,
        "tokens_after": report.tokens_after,
        "attempted": report.attempted,
        "cold_held": report.held,
    }


def _step(step: StepReport) -> ComponentRow:
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
        saved_unique=step.unique,
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
