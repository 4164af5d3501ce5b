"""Is it healthy, is it losing anything, is it paying (04 section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect

from controlplane.accounts.models import Tenant
from controlplane.accounts.permissions import may
from controlplane.ui import figures, snippets
from controlplane.ui.bell import bell
from controlplane.ui.component_rows import VERDICTS, ComponentRow, component_rows
from controlplane.ui.figures import Stats
from controlplane.ui.frame import PersonRequest, page
from controlplane.ui.looks import Look, look_of
from controlplane.ui.money_rows import money, money_note, waterfall
from controlplane.ui.numerals import span
from controlplane.ui.safety import safety
from controlplane.ui.scope import Scope, handle
from controlplane.ui.traffic_charts import TOPIC, traffic_charts
from dataplane.core.components import components


@require_safe
def overview(request: PersonRequest) -> HttpResponse:
    """The page; a poll of somebody whose session has ended goes to the sign-in as a whole."""
    if request.headers.get("hx-request") and not request.user.is_authenticated:
        return HttpResponseClientRedirect(f"{reverse('ui:login')}?next={request.path}")
    return _overview(request)


@login_required
def _overview(request: PersonRequest) -> HttpResponse:
    """The page, or for htmx the leaves of it that may have changed."""
    look = look_of(request)
    scope, stats = look.scope, look.scope.stats()
    kept = f"?{urlencode({'tenant': look.handle})}" if look.handle else ""
    context = {**figures_of(stats), "kept": kept}
    if request.headers.get("hx-request"):
        shown = {
            "safety_changed": request.GET.get("safety") != safety(stats).state,
            "figures_shown": "figures" in request.GET,
            "bell": bell(look.reach),
        }
        charts = {} if "figures" in request.GET else _charts(look)
        return render(request, "overview/overview.html#live", {**context, **shown, **charts})
    around = {
        "look": look,
        "here": look.href(),
        "stream": look.stream(TOPIC),
        **_charts(look),
        **_first_steps(request, scope, stats),
    }
    return page(request, "overview/overview.html", {**context, **around}, here="ui:overview")


def figures_of(stats: Stats | None) -> dict[str, object]:
    """Everything on the page that changes while it is open."""
    known = stats or {}
    return {
        "is_running": stats is not None,
        "has_traffic": bool(figures.all_requests(known)),
        "safety": safety(stats),
        "counted": _counted(known),
        "running": figures.running(known),
        "volume": figures.volume(known),
        "savings": figures.savings(known),
        "projection": figures.projection(known),
        "components": _at_work(component_rows(known, tuple(components().values()))),
        "tiers": figures.billed_tiers(known),
        "billed_total": figures.billed_total(known),
        "money": money(known),
        "money_note": money_note(known),
        "waterfall": waterfall(known),
        "untouched": figures.not_compacted(known),
        "latency": figures.latency(known),
    }


def _at_work(rows: Sequence[ComponentRow]) -> tuple[ComponentRow, ...]:
    """The idle ones are on the page of all components."""
    return tuple(row for row in rows if row.verdict != VERDICTS["idle"])


def _counted(stats: Stats) -> str:
    seconds = figures.real(stats, "uptime_s")
    if seconds is None:
        return ""
    return f"Counted for {span(seconds)}, since the node started."


def _charts(look: Look) -> dict[str, object]:
    return {"charts": traffic_charts(look), "topic": TOPIC, "words": look.words}


def leaves(stats: Stats | None) -> dict[str, tuple[str, str, bool]]:
    """The texts on the page that a stream replaces, by the id of their leaf."""
    known, found = stats or {}, {}
    for tile in (*safety(stats).tiles, *figures.volume(known), *figures.savings(known)):
        found[tile.key] = (tile.figure.text, tile.figure.unit, tile.figure.is_word)
        found[f"{tile.key}-sub"] = (tile.sub, "", False)
    return found


@dataclass(frozen=True, slots=True)
class NextStep:
    name: str
    href: str
    why: str


def _afterwards(tenant: Tenant | None, own_page: str) -> tuple[NextStep, ...]:
    every = NextStep("See every tenant", reverse("ui:tenants"), "Their documents, keys and loss.")
    if tenant is None:
        return (every,)
    document = NextStep(
        f"Read the document of {tenant.label}",
        own_page,
        "Which components run, and with what. A change works on the next request.",
    )
    upstreams = NextStep(
        "Check where its requests go",
        f"{own_page}#upstreams",
        "An upstream is chosen by name, one for each dialect.",
    )
    return (document, upstreams, every)


def _first_steps(request: PersonRequest, scope: Scope, stats: Stats | None) -> dict[str, object]:
    """What a fresh deployment needs to know."""
    tenant = scope.chosen or next(iter(scope.tenants), None)
    may_issue = tenant is not None and may(request.user, "key:write", tenant)
    own_page = reverse("ui:tenant", args=[handle(tenant, scope.tenants)]) if tenant else ""
    connect = reverse("ui:connect-tenant", args=[handle(tenant, scope.tenants)]) if tenant else ""
    base_url = request.build_absolute_uri("/").rstrip("/")
    return {
        "uptime": figures.uptime(stats or {}),
        "setup": snippets.claude_code(base_url).text,
        "connect_href": connect,
        "may_issue": may_issue,
        "afterwards": _afterwards(tenant, own_page),
    }
