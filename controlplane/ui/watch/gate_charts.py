"""The charts of one component: declines by gate, and what it did, never in one (04 §5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.figures import numerals
from controlplane.figures.component import CANDIDATES, DID, EVENTS, REQUESTS
from controlplane.telemetry.queries import SignalSeries
from controlplane.ui.watch.charts import Chart, Column, Mark, columns_of, rows_of
from controlplane.ui.watch.gate_rows import known_gates
from dataplane.core.port.declaration import Declaration

UNITS = ((CANDIDATES, "Candidates"), (REQUESTS, "Requests"))


@dataclass(frozen=True, slots=True)
class Backdrop:
    """What the charts of a page share. words: "the last 1 h"; observed: for each step."""

    words: str
    observed: Sequence[bool]
    marks: tuple[Mark, ...]


def declines(
    series: SignalSeries,
    declaration: Declaration | None,
    *,
    unit: str,
    behind: Backdrop,
) -> Chart:
    """unit: whether candidates are counted, or requests."""
    counted = series.n if unit == CANDIDATES else series.requests
    columns = columns_of(counted, known_gates(declaration))
    total = sum(column.total for column in columns)
    top = columns[0] if columns and total else None
    return Chart(
        name=f"declines-{unit}",
        kind="stack",
        unit=unit,
        step_s=series.step_s,
        columns=columns,
        rows=rows_of(columns, counted, series.at, behind.observed),
        total=str(numerals.count(total)) if unit == CANDIDATES else "",
        finding=_finding(unit, behind.words, top, total),
        label=_label(f"Declined {unit} by gate", behind.words, columns),
        caption=f"Declined {unit} by gate",
        marks=behind.marks,
    )


def _finding(unit: str, words: str, top: Column | None, total: int) -> str:
    if top is None:
        nothing = "No gate held on any request" if unit == REQUESTS else "candidates declined"
        return f"{nothing} in {words}."
    if unit == REQUESTS:
        return (
            f"`{top.key}` held on {numerals.count(top.total)} requests in {words}. "
            "One request can meet several gates, so the layers have no common total."
        )
    share = numerals.share(top.total, total)
    return f"candidates declined in {words}, {share} of them by `{top.key}`"


def done(
    did: SignalSeries,
    events: SignalSeries,
    declaration: Declaration | None,
    behind: Backdrop,
) -> Chart:
    """What the component did: runs in which it acted, and its declared events."""
    declared = [event.name for event in declaration.events] if declaration else []
    counted: Mapping[str, Sequence[int]] = {
        **{name: did.n[name] for name in DID if name in did.n},
        **events.n,
    }
    columns = tuple(
        replace(column, name=DID.get(column.key, column.key))
        for column in columns_of(counted, [*DID, *declared])
    )
    fresh, again = sum(did.n.get("acted_fresh", ())), sum(did.n.get("acted_replay", ()))
    return Chart(
        name="done",
        kind="lines",
        unit=EVENTS,
        step_s=did.step_s,
        columns=columns,
        rows=rows_of(columns, counted, did.at, behind.observed),
        total=str(numerals.count(fresh)),
        finding=f"runs changed something for the first time, {numerals.count(again)} replayed it",
        label=_label("Runs that acted, and events", behind.words, columns),
        caption="What it did",
        marks=behind.marks,
    )


def _label(what: str, words: str, columns: Sequence[Column]) -> str:
    """The picture in words, for whoever does not see it."""
    told = [f"{column.name} {numerals.count(column.total)}" for column in columns if column.total]
    return f"{what}, over {words}. " + (f"{', '.join(told)}." if told else "None.")
