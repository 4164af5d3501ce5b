"""One row per component of the pipeline: what it did, what it turned away, and why.

Source: 03-proxy-and-recovery.md 6.1, 04-controlplane-and-dashboard.md 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.figures import numerals
from controlplane.figures.numerals import Figure
from controlplane.figures.stats import Stats, part, real, whole
from controlplane.ui.frame.verdicts import Verdict
from dataplane.core.port.declaration import Declaration
from dataplane.core.port.gates import OFFLOAD_GATES


@dataclass(frozen=True, slots=True)
class Reason:
    """A gate or an event by name, what it means, and how often."""

    name: str
    meaning: str
    times: Figure


@dataclass(frozen=True, slots=True)
class ComponentRow:
    name: str
    summary: str
    verdict: Verdict
    runs: Figure
    acted: Figure
    acted_how: str
    reverted: Figure
    unique: Figure
    gross: Figure
    each_run: Figure
    gates: tuple[Reason, ...]
    events: tuple[Reason, ...]


VERDICTS = {
    "acted": Verdict("acted", "ok", "ok"),
    "moved": Verdict("moved, saved nothing", "even", "quiet"),
    "skipped": Verdict("changed nothing", "even", "quiet"),
    "idle": Verdict("idle", "wait", "quiet"),
}
NOT_REPORTED = Verdict("no data", "unknown", "quiet")


def component_rows(
    stats: Stats, declared: tuple[Declaration, ...] = ()
) -> tuple[ComponentRow, ...]:
    """Every component that reported, in the order in which the node lists them."""
    known = {declaration.name: declaration for declaration in declared}
    reports = part(stats, "components")
    return tuple(_row(name, part(reports, name), known.get(name)) for name in reports)


def _row(name: str, report: Stats, declaration: Declaration | None) -> ComponentRow:
    runs = whole(report, "runs")
    return ComponentRow(
        name=name,
        summary=declaration.summary if declaration else "",
        verdict=VERDICTS.get(str(report.get("verdict")), NOT_REPORTED),
        runs=numerals.count(runs),
        acted=numerals.count(whole(report, "acted")),
        acted_how=_acted_how(report),
        reverted=numerals.count(whole(report, "reverted")),
        unique=numerals.count(whole(report, "saved_tokens_unique")),
        gross=numerals.count(whole(report, "saved_tokens")),
        each_run=_mean_ms(real(report, "duration_ms"), runs),
        gates=_reasons(part(report, "gates"), _gate_meanings(declaration)),
        events=_reasons(part(report, "events"), _event_meanings(declaration)),
    )


def _acted_how(report: Stats) -> str:
    fresh, again = whole(report, "acted_fresh"), whole(report, "acted_replay")
    if fresh is None or again is None or not (fresh or again):
        return ""
    return f"{numerals.count(fresh)} new, {numerals.count(again)} replayed"


def _mean_ms(total_ms: float | None, runs: int | None) -> Figure:
    return numerals.duration(total_ms / runs if total_ms is not None and runs else None)


def _reasons(counts: Stats, meanings: dict[str, str]) -> tuple[Reason, ...]:
    found = [(name, whole(counts, name) or 0) for name in counts]
    return tuple(
        Reason(name, meanings.get(name, ""), numerals.count(times))
        for name, times in sorted(found, key=lambda pair: (-pair[1], pair[0]))
        if times
    )


def _gate_meanings(declaration: Declaration | None) -> dict[str, str]:
    own = declaration.gates if declaration else ()
    return {gate.name: gate.meaning for gate in (*OFFLOAD_GATES, *own)}


def _event_meanings(declaration: Declaration | None) -> dict[str, str]:
    return {event.name: event.meaning for event in (declaration.events if declaration else ())}
