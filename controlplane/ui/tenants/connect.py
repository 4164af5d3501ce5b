"""From nothing to the first request of an agent: tenant, key, lines, arrival (04 §5.13)."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect

from controlplane.accounts.models import DataPlaneKey, Tenant, Upstream
from controlplane.accounts.permissions import may
from controlplane.accounts.queries import chosen_upstreams, visible_tenants
from controlplane.digits import whole
from controlplane.figures.scope import Choice, handle
from controlplane.fleet import presence
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.tenants import arrival, snippets
from controlplane.ui.tenants.pages import tenant_of


@dataclass(frozen=True, slots=True)
class Path:
    """Where the requests of a client go. problem: why they would not get there."""

    client: snippets.Client
    sentence: str
    problem: str = ""


@login_required
@require_safe
def connect(request: PersonRequest) -> HttpResponse:
    """For the first tenant of the person that is served; the others are offered."""
    served_first = F("disabled_at").asc(nulls_first=True)
    tenant = visible_tenants(request.user).order_by(served_first, "id").first()
    if tenant is None:
        return page(request, "connect/connect.html", {"tenant": None}, here="ui:connect")
    return connect_page(request, tenant)


@login_required
@require_safe
def connect_tenant(request: PersonRequest, slug: str) -> HttpResponse:
    return connect_page(request, tenant_of(request, slug))


def connect_page(
    request: PersonRequest,
    tenant: Tenant,
    key: DataPlaneKey | None = None,
    plaintext: str = "",
) -> HttpResponse:
    """plaintext: the key's text, on the one page that ever shows it."""
    tenants = list(visible_tenants(request.user).order_by("organisation__slug", "slug"))
    slug = handle(tenant, tenants)
    base_url = request.build_absolute_uri("/").rstrip("/")
    shown = plaintext or (f"cg_live_{key.prefix}…" if key else snippets.PLACEHOLDER)
    context = {
        "tenant": tenant,
        "slug": slug,
        "choices": [_choice(each, tenant, tenants) for each in tenants],
        "may_issue": may(request.user, "key:write", tenant),
        "may_choose": may(request.user, "tenant:write", tenant),
        "key": key,
        "plaintext": plaintext,
        "paths": paths(tenant, snippets.clients(base_url, shown)),
        **(_arrival(tenant, slug, key) if key else {}),
    }
    return page(request, "connect/connect.html", context, here="ui:connect")


def _choice(each: Tenant, current: Tenant, among: list[Tenant]) -> Choice:
    href = reverse("ui:connect-tenant", args=[handle(each, among)])
    return Choice(each.label, href, is_current=each == current)


def paths(tenant: Tenant, clients: tuple[snippets.Client, ...]) -> tuple[Path, ...]:
    chosen = chosen_upstreams(tenant)
    return tuple(_path(client, chosen.get(client.dialect)) for client in clients)


def _path(client: snippets.Client, upstream: Upstream | None) -> Path:
    label = Upstream.Dialect(client.dialect).label
    if upstream is None:
        problem = f"The tenant has no upstream for {label} yet: its requests would get 502."
        return Path(client, "", problem)
    if upstream.key_secret_id is None:
        whose = "with the agent's own key, which is passed through and never stored"
    else:
        whose = "with the key that Headrace holds; the agent's own is not forwarded"
    return Path(client, f"Goes to {upstream.name} in the {label} dialect, {whose}.")


@never_cache
@require_safe
def first_request(request: PersonRequest, slug: str, uid: str) -> HttpResponse:
    """Whether the key has arrived: the page again, or for htmx the line alone."""
    if request.headers.get("hx-request") and not request.user.is_authenticated:
        return HttpResponseClientRedirect(f"{reverse('ui:login')}?next={reverse('ui:connect')}")
    return _first_request(request, slug, uid)


@login_required
def _first_request(request: PersonRequest, slug: str, uid: str) -> HttpResponse:
    tenant = tenant_of(request, slug)
    key = get_object_or_404(DataPlaneKey, tenant=tenant, uid=uid)
    if not request.headers.get("hx-request"):
        return connect_page(request, tenant, key)
    since = whole(request.GET.get("since", ""), None)
    context = _arrival(tenant, slug, key, since=since)
    return render(request, "connect/connect.html#arrival", {"key": key, **context})


def _arrival(
    tenant: Tenant, slug: str, key: DataPlaneKey, *, since: int | None = None
) -> dict[str, object]:
    """since: how many requests of the tenant had been turned away when the waiting began."""
    counted = arrival.turned_away(tenant)
    same_owner = DataPlaneKey.objects.filter(principal=key.principal).exclude(pk=key.pk)
    before = sum(counted.values()) if since is None else since
    look = reverse("ui:first-request", args=[slug, key.uid])
    return {
        "shares_owner": same_owner.exists(),
        "is_running": bool(presence.heard().living),
        "use": arrival.uses_of([key]).get(key.principal),
        "look": f"{look}?since={before}",
        "turned_away": arrival.in_words(before, counted),
    }
