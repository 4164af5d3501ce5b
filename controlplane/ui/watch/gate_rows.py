"""The gates of one component: what each means, how often it held, and when (04 §5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.figures import numerals
from controlplane.figures.component import seen
from controlplane.figures.numerals import Figure
from controlplane.telemetry.queries import ComponentFigures, SignalSeries
from controlplane.ui.watch.charts import Column, spark
from dataplane.core.port.declaration import Declaration
from dataplane.core.port.gates import OFFLOAD_GATES

UNDESCRIBED = "no description"


@dataclass(frozen=True, slots=True)
class GateRow:
    """place: of its colour in the chart, 0 for none of its own."""

    name: str
    meaning: str
    place: int
    count: Figure
    requests: Figure
    share: Figure
    trend: str
    is_selected: bool


def meanings(declaration: Declaration | None) -> dict[str, str]:
    own = declaration.gates if declaration else ()
    return {gate.name: gate.meaning for gate in (*OFFLOAD_GATES, *own)}


def known_gates(declaration: Declaration | None) -> tuple[str, ...]:
    """Those that the component itself declares."""
    return tuple(gate.name for gate in declaration.gates) if declaration else ()


def gate_rows(
    figures: ComponentFigures,
    declaration: Declaration | None,
    series: SignalSeries,
    columns: Sequence[Column],
    selected: str,
) -> tuple[GateRow, ...]:
    """Most declines first, then the declared gates that never held."""
    said = meanings(declaration)
    counted = {gate.name: gate for gate in figures.gates}
    places = {column.key: column.place for column in columns}
    names = {**dict.fromkeys(counted), **dict.fromkeys(known_gates(declaration))}
    return tuple(
        GateRow(
            name=name,
            meaning=said.get(name, UNDESCRIBED),
            place=places.get(name, 0),
            count=seen(figures, counted[name].n if name in counted else 0),
            requests=seen(figures, counted[name].requests if name in counted else 0),
            share=numerals.share(counted[name].n if name in counted else 0, figures.declines),
            trend=spark(series.n.get(name, ())),
            is_selected=name == selected,
        )
        for name in names
    )
