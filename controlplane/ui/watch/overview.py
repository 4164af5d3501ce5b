"""Is it healthy, is it losing anything, is it paying (04 §5.1)."""

from __future__ import annotations

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
from controlplane.configs.rested import rested_under
from controlplane.figures import tiles
from controlplane.figures.counted import components_at_work
from controlplane.figures.numerals import plural, span
from controlplane.figures.overview import TOPIC, Shown, shown_of
from controlplane.figures.scope import Scope, handle
from controlplane.figures.stats import Stats, real, whole
from controlplane.telemetry.queries import State, traffic_ever
from controlplane.ui.frame.bell import bell
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.panels import notes_of
from controlplane.ui.tenants import snippets
from controlplane.ui.watch import overview_rows
from controlplane.ui.watch.component_rows import component_rows
from controlplane.ui.watch.looks import Look, look_of
from controlplane.ui.watch.money_rows import money, money_note, waterfall
from controlplane.ui.watch.ratios import Parts, ratios
from controlplane.ui.watch.traffic_charts import traffic_charts
from dataplane.core.components import components
from dataplane.core.config.deployment import basis_of


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
    seen = shown_of(look.reach, look.window, look.scope)
    kept = f"?{urlencode({'tenant': look.handle})}" if look.handle else ""
    has_traffic = bool(seen.counted.traffic.requests) or traffic_ever(look.reach, look.tenant)
    context = {**figures_of(look, seen), "kept": kept, "has_traffic": has_traffic}
    if request.headers.get("hx-request"):
        swapped = {
            "safety_changed": request.GET.get("safety") != seen.safety.state,
            "figures_shown": "figures" in request.GET,
            "bell": bell(look.reach),
        }
        charts = {} if "figures" in request.GET else _charts(look)
        return render(request, "overview/overview.html#live", {**context, **swapped, **charts})
    around = {
        "look": look,
        "here": look.href(),
        "stream": look.stream(TOPIC),
        "notes": notes_of(look.window),
        "is_readable": seen.counted.state is not State.UNKNOWN,
        **_charts(look),
        **_cold_cache(look),
        **_first_steps(request, look.scope, seen.node),
    }
    return page(request, "overview/overview.html", {**context, **around}, here="ui:overview")


def figures_of(look: Look, seen: Shown) -> dict[str, object]:
    """Everything on the page that changes while it is open."""
    known, traffic, covered = seen.counted.stats, seen.counted.traffic, seen.counted.covered
    at_work = {"components": components_at_work(look.reach, look.window, look.tenant)}
    reporting = covered.nodes - covered.silent, covered.nodes
    return {
        "is_running": seen.node is not None,
        "safety": seen.safety,
        "since": _since(look, seen),
        "running": overview_rows.running(seen.node or {}, known, reporting),
        "volume": tiles.volume(known),
        "savings": tiles.savings(known),
        "projection": overview_rows.projection(known),
        "ratios": ratios(_parts(known)),
        "components": component_rows(at_work, tuple(components().values())),
        "tiers": overview_rows.billed_tiers(known),
        "billed_total": overview_rows.billed_total(known),
        "money": money(known),
        "money_note": money_note(known),
        "waterfall": waterfall(known),
        "untouched": overview_rows.not_compacted(known),
        "within": overview_rows.within(traffic),
        "latency": overview_rows.latency(known),
    }


def _parts(known: Stats) -> Parts:
    fresh = whole(known, "fresh_input_tokens")
    written = whole(known, "cache_write_tokens")
    return Parts(
        gross=whole(known, "saved_tokens"),
        unique=whole(known, "saved_tokens_unique"),
        attempted=whole(known, "attempted_tokens"),
        before=whole(known, "tokens_before"),
        billed_anew=None if fresh is None or written is None else fresh + written,
    )


def _since(look: Look, seen: Shown) -> str:
    """Over which time, and by whose reports, the strip counts."""
    covered, seconds = seen.counted.covered, real(seen.node or {}, "uptime_s")
    if covered.nodes:
        heard = f"{covered.nodes - covered.silent} of {plural(covered.nodes, 'node')}"
        return f"Counted over {look.words}; {heard} report."
    return f"Counted for {span(seconds)}, since the node started." if seconds is not None else ""


def _cold_cache(look: Look) -> dict[str, object]:
    """What a tenant whose sessions rest pays for it; nothing for all tenants at once."""
    found = rested_under(look.scope.chosen) if look.scope.chosen else None
    if found is None:
        return {}
    href = reverse("ui:config-text", args=[look.handle])
    return {"rested": found, "rested_basis": basis_of(found), "document_href": href}


def _charts(look: Look) -> dict[str, object]:
    return {"charts": traffic_charts(look), "topic": TOPIC, "words": look.words}


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
        "uptime": overview_rows.uptime(stats or {}),
        "setup": snippets.claude_code(base_url).text,
        "connect_href": connect,
        "may_issue": may_issue,
        "afterwards": _afterwards(tenant, own_page),
    }
