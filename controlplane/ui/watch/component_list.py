"""Every component of this build: what it does here, and why it declines (04 §5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from controlplane.accounts.models import Tenant
from controlplane.configs.models import EffectiveRevision
from controlplane.figures import numerals
from controlplane.figures.numerals import Figure
from controlplane.telemetry.queries import ComponentFigures, State
from controlplane.telemetry.queries import components as components_of
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.verdicts import Verdict
from controlplane.ui.watch.component_rows import Reason
from controlplane.ui.watch.gate_rows import meanings
from controlplane.ui.watch.looks import Look, look_of
from dataplane.core.components import components
from dataplane.core.port.declaration import Declaration

TOP_GATES = 3
MOST_TOPICS = 16  # that one stream may carry
IN_GENERAL = "overview"
EARNS = Verdict("earning its place", "ok", "ok")
MOVES = Verdict("mutates, removes nothing", "even", "quiet")
INERT = Verdict("inert here", "even", "quiet")
IDLE = Verdict("no traffic in the window", "wait", "quiet")
NOT_DEPLOYED = Verdict("not deployed", "wait", "quiet")
NOT_IN_BUILD = Verdict("not in this build", "unknown", "quiet")
UNREAD = Verdict("unknown", "unknown", "quiet")


@dataclass(frozen=True, slots=True)
class ListRow:
    """deployed: "in 2 of 3 pipelines". top: the gates that held most, with their shares."""

    name: str
    href: str
    kind: str
    summary: str
    verdict: Verdict
    deployed: str
    runs: Figure
    acted: Figure
    acted_share: Figure
    reverted: Figure
    discarded: Figure
    is_discarding: bool
    unique: Figure
    gross: Figure
    mean: Figure
    top: tuple[Reason, ...]


@login_required
@require_safe
def component_list(request: PersonRequest) -> HttpResponse:
    look = look_of(request)
    state, found = components_of(look.reach, look.window, tenant=look.tenant)
    rows = list_rows(look, state, found)
    running = [row for row in rows if row.verdict not in (NOT_DEPLOYED, NOT_IN_BUILD)]
    topics = [f"component.{row.name}" for row in running[:MOST_TOPICS]] or [IN_GENERAL]
    context = {
        "look": look,
        "stream": look.stream(*topics),
        "state": state.value,
        "running": running,
        "others": [row for row in rows if row.verdict in (NOT_DEPLOYED, NOT_IN_BUILD)],
    }
    return page(request, "components/components.html", context, here="ui:components")


def list_rows(look: Look, state: State, found: Sequence[ComponentFigures]) -> list[ListRow]:
    """Those that ran first, most runs first; then the rest by name."""
    by_name = {figures.component: figures for figures in found}
    known = components()
    deployed = deployments(look)
    names = {**dict.fromkeys(by_name), **dict.fromkeys(known)}
    rows = [
        _row(look, name, by_name.get(name) or ComponentFigures(name, state), deployed)
        for name in names
    ]
    return sorted(rows, key=lambda row: (row.name not in by_name, not row.deployed, row.name))


def deployments(look: Look) -> Mapping[str, tuple[int, int]]:
    """By component: how many pipelines of the tenants on screen it is in, and of how many."""
    shown = [look.scope.chosen] if look.scope.chosen else list(look.scope.tenants)
    newest = EffectiveRevision.objects.filter(tenant=OuterRef("pk")).values("effective__pipeline")
    tenants = Tenant.objects.filter(pk__in=[tenant.pk for tenant in shown])
    pipelines = tenants.annotate(runs=Subquery(newest[:1])).values_list("runs", flat=True)
    known = [pipeline for pipeline in pipelines if isinstance(pipeline, list)]
    return {
        name: (sum(name in pipeline for pipeline in known), len(known)) for name in components()
    }


def in_words(where: tuple[int, int], *, alone: bool) -> str:
    """ "in 2 of 3 pipelines"; "" for none."""
    inside, of = where
    if not inside:
        return ""
    return "in the pipeline" if alone else f"in {inside} of {of} pipelines"


def verdict_of(
    figures: ComponentFigures, declaration: Declaration | None, *, deployed: bool
) -> Verdict:
    """In words what the figures say of it here; nothing is judged that was not observed."""
    counts = figures.counts
    if not counts.get("runs"):
        if declaration is not None and not declaration.available:
            return NOT_IN_BUILD
        if not deployed:
            return NOT_DEPLOYED
        return UNREAD if figures.state is State.UNKNOWN else IDLE
    if counts.get("saved_unique") or counts.get("saved_gross"):
        return EARNS
    return MOVES if counts.get("mutated") else INERT


def _row(
    look: Look,
    name: str,
    figures: ComponentFigures,
    deployed: Mapping[str, tuple[int, int]],
) -> ListRow:
    declaration, counts = components().get(name), figures.counts
    where = deployed.get(name, (0, 0))
    shown = {key: numerals.count(counts.get(key)) for key in COUNTED}
    return ListRow(
        name=name,
        href=look.href(reverse("ui:component", args=[name])),
        kind=declaration.kind.value if declaration else "unknown",
        summary=declaration.summary if declaration else "",
        verdict=verdict_of(figures, declaration, deployed=bool(where[0])),
        deployed=in_words(where, alone=bool(look.tenant)),
        acted_share=numerals.share(counts.get("acted"), counts.get("runs")),
        is_discarding=bool(counts.get("discarded")),
        mean=numerals.duration(figures.mean_ms),
        top=_top(figures, declaration),
        unique=shown["saved_unique"],
        gross=shown["saved_gross"],
        **{key: shown[key] for key in ("runs", "acted", "reverted", "discarded")},
    )


COUNTED = ("runs", "acted", "reverted", "discarded", "saved_unique", "saved_gross")


def _top(figures: ComponentFigures, declaration: Declaration | None) -> tuple[Reason, ...]:
    said = meanings(declaration)
    return tuple(
        Reason(gate.name, said.get(gate.name, ""), numerals.share(gate.n, figures.declines))
        for gate in figures.gates[:TOP_GATES]
    )
