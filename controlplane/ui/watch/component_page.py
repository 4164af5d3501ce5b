"""One component: what it is, what it did here, and the live gate chart (04 §5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from controlplane.configs.checking import resolved
from controlplane.figures import numerals
from controlplane.figures.component import CANDIDATES, headlines
from controlplane.figures.scope import Choice, handle
from controlplane.telemetry.queries import (
    ComponentFigures,
    Coverage,
    RequestFilter,
    RunRow,
    component,
    component_series,
    coverage,
    requests,
    signal_series,
)
from controlplane.telemetry.queries.components import EVENT
from controlplane.ui.configs.effective_rows import Row, rows
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.shown_text import visible
from controlplane.ui.watch.backdrop import marks, observed
from controlplane.ui.watch.component_list import deployments, in_words, verdict_of
from controlplane.ui.watch.gate_charts import UNITS, Backdrop, declines, done
from controlplane.ui.watch.gate_rows import gate_rows, meanings
from controlplane.ui.watch.looks import Look, look_of
from dataplane.core.components import components
from dataplane.core.config.problems import ConfigError
from dataplane.core.port.declaration import Declaration

SAMPLES = 20
MOST_OF_IT = 0.5


@login_required
@require_safe
def component_page(request: PersonRequest, name: str) -> HttpResponse:
    look = look_of(request, "unit", "gate")
    figures = component(look.reach, name, look.window, tenant=look.tenant)
    declaration = components().get(name)
    if declaration is None and not figures.counts:
        raise Http404
    selected = selected_gate(figures, request.GET.get("gate", ""))
    context = {
        "look": look,
        "stream": look.stream(f"component.{name}"),
        "name": name,
        "topic": f"component.{name}",
        "declaration": declaration,
        "back": look.href(reverse("ui:components")),
        **_what_it_is(look, name, figures, declaration),
        **_figures(look, name, figures, declaration, selected=selected),
        "samples": _samples(look, name, selected),
        "keys": _keys(look, name),
    }
    return page(request, "components/component.html", context, here="ui:components")


def selected_gate(figures: ComponentFigures, wanted: str) -> str:
    """The one that was asked for, or the one that held most; "" where none did."""
    names = [gate.name for gate in figures.gates]
    return wanted if wanted in names else next(iter(names), "")


def _what_it_is(
    look: Look, name: str, figures: ComponentFigures, declaration: Declaration | None
) -> dict[str, object]:
    where = deployments(look).get(name, (0, 0))
    return {
        "verdict": verdict_of(figures, declaration, deployed=bool(where[0])),
        "deployed": in_words(where, alone=bool(look.tenant)),
        "kind": declaration.kind.value if declaration else "unknown",
        "partial": partial_words(coverage(look.window)),
        "why_empty": _why_empty(figures, deployed=bool(where[0])),
    }


def _why_empty(figures: ComponentFigures, *, deployed: bool) -> str:
    """One sentence where the charts would be flat; "" where they are not."""
    if figures.declines or figures.counts.get("acted"):
        return ""
    if figures.state == "unknown":
        return "The telemetry database cannot be read, so nothing is known of this window."
    if figures.counts.get("runs"):
        runs = numerals.plural(figures.counts["runs"], "time")
        return f"It ran {runs} and declined nothing."
    if not deployed:
        return "This component is in no active pipeline."
    return "No traffic in this window."


def partial_words(covered: Coverage) -> str:
    """What is missing from the window's figures; "" for nothing."""
    if covered.state != "partial":
        return ""
    said = f"{covered.nodes - covered.silent} of {numerals.plural(covered.nodes, 'node')} report"
    lost = f", {numerals.plural(covered.lost_batches, 'batch', 'batches')} never arrived"
    return f"{said}{lost if covered.lost_batches else ''}; figures are a lower bound."


def _figures(
    look: Look,
    name: str,
    figures: ComponentFigures,
    declaration: Declaration | None,
    *,
    selected: str,
) -> dict[str, object]:
    unit = unit_of(look)
    gates = signal_series(look.reach, name, look.window, tenant=look.tenant)
    events = signal_series(look.reach, name, look.window, kind=EVENT, tenant=look.tenant)
    did = component_series(look.reach, name, look.window, tenant=look.tenant)
    behind = Backdrop(look.words, observed(look.window), marks(look))
    chart = declines(gates, declaration, unit=unit, behind=behind)
    gate_lines = gate_rows(figures, declaration, gates, chart.columns, selected)
    return {
        "headlines": headlines(figures),
        "chart": chart,
        "done": done(did, events, declaration, behind),
        "units": units(look, unit),
        "insight": insight(figures, declaration),
        "gates": [(row, _to_samples(look, figures, row.name)) for row in gate_lines],
        "selected": selected,
    }


def _to_samples(look: Look, figures: ComponentFigures, gate: str) -> str:
    """ "" for a gate that did not hold, of which there is nothing to show."""
    held = any(one.name == gate for one in figures.gates)
    return look.href(gate=gate) + "#samples" if held else ""


def unit_of(look: Look) -> str:
    wanted = dict(look.kept).get("unit", "")
    return wanted if wanted in dict(UNITS) else CANDIDATES


def units(look: Look, unit: str) -> tuple[Choice, ...]:
    return tuple(
        Choice(words, look.href(unit="" if name == CANDIDATES else name), is_current=name == unit)
        for name, words in UNITS
    )


def insight(figures: ComponentFigures, declaration: Declaration | None) -> str:
    """What stands out, as it was observed and without a guessed cause; "" for nothing."""
    top = next(iter(figures.gates), None)
    if top is None or top.n < MOST_OF_IT * figures.declines:
        return ""
    share = numerals.share(top.n, figures.declines)
    meaning = meanings(declaration).get(top.name, "")
    return f"`{top.name}` turned away {share} of candidates. {meaning}".strip()


@dataclass(frozen=True, slots=True)
class Sample:
    """A request on which the selected gate held, and how often it did."""

    at: datetime
    uid: str
    tenant: str
    session: str
    model: str
    turn: int
    times: str


def _samples(look: Look, name: str, gate: str) -> tuple[Sample, ...]:
    if not gate:
        return ()
    filters = RequestFilter(
        tenant=look.tenant,
        component=name,
        gate=gate,
        since=look.window.since,
        until=look.window.until,
    )
    labels = {tenant.uid: tenant.label for tenant in look.scope.tenants}
    return tuple(
        Sample(
            at=datetime.fromtimestamp(row.record.at / 1000, UTC),
            uid=row.uid,
            tenant=labels.get(row.record.tenant_uid, row.record.tenant_uid),
            session=row.record.session_uid,
            model=visible(row.record.model),
            turn=row.record.turn,
            times=_times(row.runs, name, gate),
        )
        for row in requests(look.reach, filters, limit=SAMPLES).rows
    )


def _times(runs: Sequence[RunRow], name: str, gate: str) -> str:
    held = [run.gates.get(gate, 0) for run in runs if run.component == name]
    return str(numerals.count(sum(held)))


def _keys(look: Look, name: str) -> Mapping[str, object]:
    """Its keys as they are in force for the tenant on screen, or why they are not shown."""
    tenant = look.scope.chosen or (look.scope.tenants[0] if len(look.scope.tenants) == 1 else None)
    if tenant is None:
        return {"why": "Each tenant has its own: choose one above to see them.", "rows": ()}
    try:
        effective = resolved(tenant).effective
    except ConfigError:
        return {"why": "The layers of its document no longer go together.", "rows": ()}
    own_rows: list[Row] = [row for row in rows(effective) if row.component == name]
    if name not in effective.pipeline:
        return {"why": f"It is not in the pipeline of {tenant.label}.", "rows": ()}
    why = "" if own_rows else "It takes no keys."
    slug = handle(tenant, look.scope.tenants)
    href = reverse("ui:config-text", args=[slug])
    return {"why": why, "rows": own_rows, "tenant": tenant.label, "href": href}
