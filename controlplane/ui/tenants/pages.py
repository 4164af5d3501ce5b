"""The tenants a person may see, and one of them with its document (04 §5.9, 5.13)."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from controlplane.accounts import actions as accounts
from controlplane.accounts.capture import blocked_by
from controlplane.accounts.models import Tenant
from controlplane.accounts.permissions import may
from controlplane.accounts.queries import visible_tenant
from controlplane.arrivals import scope_of_request
from controlplane.configs.queries import current_revision, tenant_document
from controlplane.fleet.queries import acknowledgement
from controlplane.telemetry import captured
from controlplane.telemetry.queries import Window
from controlplane.ui.configs.answers import answer_of
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.panels import notes_of
from controlplane.ui.tenants.capture_gates import gate_rows
from controlplane.ui.tenants.forms import (
    AgentKeyForm,
    KeyForm,
    LimitsForm,
    TenantForm,
    UpstreamForm,
)
from controlplane.ui.tenants.key_rows import binding_rows, key_rows
from controlplane.ui.tenants.rows import WINDOW_S, dialect_rows, tenant_rows


@login_required
@require_safe
def tenants(request: PersonRequest) -> HttpResponse:
    return tenants_page(request)


def tenants_page(request: PersonRequest, form: TenantForm | None = None) -> HttpResponse:
    """form: a new tenant that was not taken, None for an empty one where somebody may add one."""
    scope, window = scope_of_request(request), Window.last(WINDOW_S)
    rows = tenant_rows(request.user, scope, window)
    if form is None and scope.may_somewhere("tenant:write"):
        form = TenantForm(scope.organisations("tenant:write"))
    several = len({row.organisation for row in rows}) > 1
    notes = notes_of(window) if rows else ()
    context = {"rows": rows, "has_several": several, "form": form, "notes": notes}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else HTTPStatus.OK
    return page(request, "tenants/tenants.html", context, here="ui:tenants", status=status)


@login_required
@require_safe
def tenant(request: PersonRequest, slug: str) -> HttpResponse:
    return tenant_page(request, tenant_of(request, slug), slug)


def tenant_of(request: PersonRequest, slug: str, permission: str = "config:read") -> Tenant:
    """Http404 for a tenant the person may not see, PermissionDenied for a deed they may not do."""
    tenant = visible_tenant(request.user, slug)
    if tenant is None:
        raise Http404
    if not may(request.user, permission, tenant):
        raise PermissionDenied
    return tenant


def tenant_page(
    request: PersonRequest,
    tenant: Tenant,
    slug: str,
    /,
    status: int = HTTPStatus.OK,
    **refused: object,
) -> HttpResponse:
    """The whole page; refused: what was posted and why it was not taken."""
    shown, revision = tenant_document(tenant), current_revision(tenant)
    context: dict[str, object] = {
        "tenant": tenant,
        "slug": slug,
        "shown": shown,
        "pipeline": revision.effective["pipeline"] if revision else (),
        "answer": answer_of(acknowledgement(tenant), tenant),
        "key_rows": key_rows(tenant),
        "key_form": KeyForm(),
        "binding_rows": binding_rows(tenant),
        "agent_key_form": AgentKeyForm(),
        "dialects": dialect_rows(tenant),
        "limits_form": LimitsForm(initial=_limits(tenant)),
        "may_audit": scope_of_request(request).may_in("audit:read", tenant.organisation),
        "gates": gate_rows(tenant),
        "keeps_texts": blocked_by(tenant) is None,
        "texts_kept": captured.kept_of(tenant),
        "may_write": may(request.user, "config:write", tenant),
        "may_issue": may(request.user, "key:write", tenant),
        "may_list": may(request.user, "upstream:write", None),
        "may_choose": may(request.user, "tenant:write", tenant),
    }
    return page(
        request, "tenants/tenant.html", {**context, **refused}, here="ui:tenants", status=status
    )


def _limits(tenant: Tenant) -> dict[str, object]:
    names = ("label", "rpm_limit", "concurrent_limit")
    return {name: getattr(tenant, name) for name in names}


@login_required
@require_POST
def set_limits(request: PersonRequest, slug: str) -> HttpResponse:
    tenant = tenant_of(request, slug, "tenant:write")
    form = LimitsForm(request.POST)
    if not form.is_valid():
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return tenant_page(request, tenant, slug, status, limits_form=form)
    accounts.change_tenant(tenant, **form.cleaned_data, by=request.user)
    messages.success(request, "The limits hold from the next request on.", "ok")
    return redirect(f"{reverse('ui:tenant', args=[slug])}#limits")


@login_required
@require_POST
def choose_upstream(request: PersonRequest, slug: str) -> HttpResponse:
    tenant = tenant_of(request, slug, "tenant:write")
    form = UpstreamForm(request.POST)
    try:
        if not form.is_valid():
            raise ValidationError("Choose one of the upstreams by name.")
        cleaned = form.cleaned_data
        accounts.choose_upstream(tenant, cleaned["dialect"], cleaned["upstream"], request.user)
    except ValidationError as refused:
        problem = " ".join(refused.messages)
        return tenant_page(
            request, tenant, slug, HTTPStatus.UNPROCESSABLE_ENTITY, upstream_problem=problem
        )
    messages.success(request, f"{cleaned['dialect']} goes to {cleaned['upstream']} now.", "ok")
    return redirect(f"{reverse('ui:tenant', args=[slug])}#upstreams")
