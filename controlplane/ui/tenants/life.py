"""A tenant begins, is turned away, and comes back (04 §5.13)."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.accounts.actions import create_tenant, set_disabled
from controlplane.accounts.models import Tenant
from controlplane.ui.frame.access import scope_for
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.page import PersonRequest
from controlplane.ui.tenants.forms import ReasonForm, TenantForm
from controlplane.ui.tenants.pages import tenant_of, tenants_page


@login_required
@require_POST
def create(request: PersonRequest) -> HttpResponse:
    scope = scope_for(request, "tenant:write")
    form = TenantForm(scope.organisations("tenant:write"), request.POST)
    if form.is_valid():
        wanted = form.cleaned_data
        organisation = form.places[wanted["organisation"]]
        try:
            tenant = create_tenant(
                organisation, slug=wanted["slug"], label=wanted["label"], by=request.user
            )
        except ValidationError as refused:
            form.refuse(refused)
        else:
            messages.success(request, f"The tenant {tenant.label} is there.", "ok")
            return redirect("ui:connect-tenant", tenant.uid)
    return tenants_page(request, form)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def switch(request: PersonRequest, slug: str) -> HttpResponse:
    """Turn the tenant's traffic away, or let it pass again."""
    tenant = tenant_of(request, slug, "tenant:write")
    # Whoever sends a reason wants it disabled, even if somebody else was faster.
    if tenant.disabled_at is not None and "reason" not in request.POST:
        return _enable(request, tenant, slug)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        set_disabled(tenant, reason=form.cleaned_data["reason"], by=request.user)
        messages.success(request, f"Traffic of {tenant.label} is turned away.", "ok")
        return redirect("ui:tenant", slug)
    question = Question(
        title=f"Disable {tenant.label}?",
        lede="Every request of its agents gets 403 with the reason, from the next one on. Keys, "
        "documents and originals stay.",
        act="Turn its traffic away",
        keep="Leave it as it is",
        crumbs=_way_to(tenant, slug),
        leave=reverse("ui:tenant", args=[slug]),
        here="ui:tenants",
    )
    return ask(request, question, form)


def _enable(request: PersonRequest, tenant: Tenant, slug: str) -> HttpResponse:
    if request.method == "POST":
        set_disabled(tenant, reason="", by=request.user)
        messages.success(request, f"Traffic of {tenant.label} passes again.", "ok")
        return redirect("ui:tenant", slug)
    question = Question(
        title=f"Enable {tenant.label}?",
        lede=f"Its traffic is turned away: {tenant.disabled_reason}. Its agents are served again "
        "from the next request on.",
        act="Let its traffic pass",
        keep="Leave it as it is",
        is_danger=False,
        crumbs=_way_to(tenant, slug),
        leave=reverse("ui:tenant", args=[slug]),
        here="ui:tenants",
    )
    return ask(request, question)


def _way_to(tenant: Tenant, slug: str) -> tuple[Crumb, ...]:
    return (
        Crumb("Tenants", reverse("ui:tenants")),
        Crumb(tenant.label, reverse("ui:tenant", args=[slug])),
    )
