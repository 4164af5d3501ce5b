"""Data-plane keys of a tenant: issue, rotate, revoke; bound agent keys (04 §5.13)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.accounts.actions import issue_key, revoke_key, rotate_key
from controlplane.accounts.agent_keys import bind_agent_key, unbind_agent_key
from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey, Tenant
from controlplane.accounts.problems import AccountError
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.credentials import OverlapForm
from controlplane.ui.frame.page import PersonRequest
from controlplane.ui.tenants.connect import connect_page
from controlplane.ui.tenants.forms import AgentKeyForm, KeyForm
from controlplane.ui.tenants.pages import tenant_of, tenant_page

ASKED = ["GET", "HEAD", "POST"]


@login_required
@never_cache
@require_POST
def issue(request: PersonRequest, slug: str) -> HttpResponse:
    """Answers with the key itself instead of a redirect, because nothing may keep its text."""
    tenant = tenant_of(request, slug, "key:write")
    form = KeyForm(request.POST)
    if not form.is_valid():
        return tenant_page(request, tenant, slug, HTTPStatus.UNPROCESSABLE_ENTITY, key_form=form)
    wanted = form.cleaned_data
    key, plaintext = issue_key(
        tenant, wanted["label"], request.user, kind=wanted["kind"], expires_at=form.expires_at()
    )
    return connect_page(request, tenant, key, plaintext)


@login_required
@never_cache
@require_http_methods(ASKED)
def rotate(request: PersonRequest, slug: str, uid: str) -> HttpResponse:
    """GET asks for the overlap, POST answers with the new key."""
    tenant, key = _key_of(request, slug, uid)
    form = OverlapForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            fresh, plaintext = rotate_key(key, request.user, overlap=form.duration())
        except ValidationError as refused:
            form.refuse(refused)
        else:
            return connect_page(request, tenant, fresh, plaintext)
    question = Question(
        title=f"Rotate {key.label}?",
        lede=f"A new key takes over from cg_live_{key.prefix}…, with the same terms. What the old "
        "one stashed stays readable with the new one.",
        act="Rotate the key",
        is_danger=False,
        **_around(tenant, slug),
    )
    return ask(request, question, form)


@login_required
@require_http_methods(ASKED)
def revoke(request: PersonRequest, slug: str, uid: str) -> HttpResponse:
    """GET asks, POST does."""
    tenant, key = _key_of(request, slug, uid)
    if request.method == "POST":
        revoke_key(key, request.user)
        messages.success(request, f"The key {key.label} is revoked.", "ok")
        return redirect(_keys_of(slug))
    question = Question(
        title=f"Revoke {key.label}?",
        lede=f"Requests with cg_live_{key.prefix}… get 401 from the next one on. Originals it "
        "stashed are kept until they expire. A revoked key cannot be made live again.",
        act="Revoke the key",
        already="It is revoked already." if key.revoked_at else "",
        **_around(tenant, slug),
    )
    return ask(request, question)


@login_required
@sensitive_post_parameters("agent_key")
@require_POST
def bind(request: PersonRequest, slug: str) -> HttpResponse:
    """The key that an agent sends to its provider stands for the tenant from now on."""
    tenant = tenant_of(request, slug, "key:write")
    form = AgentKeyForm(request.POST)
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if form.is_valid():
        wanted = form.cleaned_data
        try:
            bound = bind_agent_key(tenant, wanted["agent_key"], wanted["label"], request.user)
        except ValidationError as refused:
            form.refuse(refused, "agent_key")
        except AccountError as refused:
            form.add_error("agent_key", str(refused))
            status = refused.status
        else:
            messages.success(request, f"The agent key {bound.label} is bound.", "ok")
            return redirect(_agent_keys_of(slug))
    return tenant_page(request, tenant, slug, status, agent_key_form=form)


@login_required
@require_http_methods(ASKED)
def unbind(request: PersonRequest, slug: str, binding: str) -> HttpResponse:
    tenant = tenant_of(request, slug, "key:write")
    bound = get_object_or_404(
        AgentKeyBinding.objects.select_related("tenant__organisation"), tenant=tenant, uid=binding
    )
    if request.method == "POST":
        unbind_agent_key(bound, request.user)
        messages.success(request, f"The agent key {bound.label} stands for nobody now.", "ok")
        return redirect(_agent_keys_of(slug))
    question = Question(
        title=f"Unbind {bound.label}?",
        lede="Requests with this agent key alone get 401 from the next one on. It can be bound "
        "again, to any tenant.",
        act="Unbind the agent key",
        **{**_around(tenant, slug), "leave": _agent_keys_of(slug)},
    )
    return ask(request, question)


def _key_of(request: PersonRequest, slug: str, uid: str) -> tuple[Tenant, DataPlaneKey]:
    tenant = tenant_of(request, slug, "key:write")
    keys = DataPlaneKey.objects.select_related("tenant__organisation")
    return tenant, get_object_or_404(keys, tenant=tenant, uid=uid)


def _around(tenant: Tenant, slug: str) -> dict[str, Any]:
    crumbs = (
        Crumb("Tenants", reverse("ui:tenants")),
        Crumb(tenant.label, reverse("ui:tenant", args=[slug])),
    )
    return {"crumbs": crumbs, "leave": _keys_of(slug), "here": "ui:tenants"}


def _keys_of(slug: str) -> str:
    return f"{reverse('ui:tenant', args=[slug])}#keys"


def _agent_keys_of(slug: str) -> str:
    return f"{reverse('ui:tenant', args=[slug])}#agent-keys"
