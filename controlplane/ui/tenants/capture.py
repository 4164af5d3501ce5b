"""Whether text of conversations is kept: the gates, and their questions (04 §5.13, 8.7)."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from controlplane.accounts.capture import allow, blocked_by, consent
from controlplane.accounts.models import Organisation, Tenant
from controlplane.figures.numerals import plural
from controlplane.telemetry import captured
from controlplane.ui.frame.access import place_of
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.page import PersonRequest
from controlplane.ui.tenants.pages import tenant_of

WRITE = "tenant:write"
ASKED = ["GET", "HEAD", "POST"]
WHAT_IS_KEPT = (
    "Of every text that the pipeline changes, its beginning before and after is kept as long as "
    "its request. Operators, administrators and managers can read it; each reading is written into "
    "the trail. What looks like a credential is taken out before a text leaves the node, by "
    "patterns, which is incomplete. Headers are never kept."
)


@login_required
@require_http_methods(ASKED)
def agree(request: PersonRequest, slug: str) -> HttpResponse:
    tenant = tenant_of(request, slug, WRITE)
    if request.method == "POST":
        consent(tenant, agreed=True, by=request.user)
        closed = blocked_by(tenant)
        said = f"It begins when the gate of the {closed} opens." if closed else "It has begun."
        messages.success(request, f"Changed texts of {tenant.label} may be kept. {said}", "ok")
        return redirect(_at(slug))
    question = Question(
        title=f"Keep changed texts of {tenant.label}?",
        lede=f"{WHAT_IS_KEPT} Your name and this moment are kept with the consent.",
        act="Agree that they are kept",
        keep="Keep none",
        is_danger=False,
        **_place(tenant, slug),
    )
    return ask(request, question)


@login_required
@require_http_methods(ASKED)
def withdraw(request: PersonRequest, slug: str) -> HttpResponse:
    """Ends with the offer to purge, where something was kept."""
    tenant = tenant_of(request, slug, WRITE)
    if request.method == "POST":
        consent(tenant, agreed=False, by=request.user)
        messages.success(request, f"No more text of {tenant.label} is kept.", "ok")
        left = captured.kept_of(tenant)
        return redirect(reverse("ui:purge-texts", args=[slug]) if left else _at(slug))
    question = Question(
        title=f"Stop keeping texts of {tenant.label}?",
        lede="From the next request on no text is kept. What was kept so far can be purged next.",
        act="Withdraw the consent",
        keep="Leave it as it is",
        **_place(tenant, slug),
    )
    return ask(request, question)


@login_required
@require_http_methods(ASKED)
def purge(request: PersonRequest, slug: str) -> HttpResponse:
    tenant = tenant_of(request, slug, WRITE)
    if request.method == "POST":
        gone = captured.purge(tenant, request.user)
        messages.success(request, f"{plural(gone, 'text')} of {tenant.label} purged.", "ok")
        return redirect(_at(slug))
    left = captured.kept_of(tenant)
    question = Question(
        title=f"Purge the kept texts of {tenant.label}?",
        lede=f"{plural(left, 'text')} of its conversations, before and after, to be deleted for "
        "good. Figures, markers and originals on the nodes stay.",
        act="Purge them",
        already="" if left else "No text of this tenant is kept.",
        **_place(tenant, slug),
    )
    return ask(request, question)


@login_required
@require_http_methods(ASKED)
def open_organisation(request: PersonRequest, place: str) -> HttpResponse:
    organisation = _organisation(request, place)
    if request.method == "POST":
        allow(organisation, allowed=True, by=request.user)
        said = f"Tenants of {organisation.name} may agree that texts are kept."
        messages.success(request, said, "ok")
        return redirect("ui:members-there", place)
    question = Question(
        title=f"Let tenants of {organisation.name} keep texts?",
        lede=f"Each tenant still has to agree by itself. {WHAT_IS_KEPT}",
        act="Allow it",
        keep="Leave it closed",
        is_danger=False,
        **_at_members(organisation, place),
    )
    return ask(request, question)


@login_required
@require_http_methods(ASKED)
def close_organisation(request: PersonRequest, place: str) -> HttpResponse:
    organisation = _organisation(request, place)
    if request.method == "POST":
        allow(organisation, allowed=False, by=request.user)
        messages.success(request, f"No tenant of {organisation.name} keeps texts any more.", "ok")
        return redirect("ui:members-there", place)
    question = Question(
        title=f"Stop keeping texts in {organisation.name}?",
        lede="From the next request of any of its tenants on no text is kept, whatever they agreed "
        "to. What was kept so far is purged on the page of each tenant.",
        act="Close the gate",
        keep="Leave it open",
        **_at_members(organisation, place),
    )
    return ask(request, question)


def _organisation(request: PersonRequest, handle: str) -> Organisation:
    found = place_of(request, handle, WRITE)
    if found is None:
        raise Http404
    return found


def _place(tenant: Tenant, slug: str) -> dict[str, Any]:
    way = (
        Crumb("Tenants", reverse("ui:tenants")),
        Crumb(tenant.label, reverse("ui:tenant", args=[slug])),
    )
    return {"crumbs": way, "leave": _at(slug), "here": "ui:tenants"}


def _at_members(organisation: Organisation, place: str) -> dict[str, Any]:
    leave = reverse("ui:members-there", args=[place])
    return {"crumbs": (Crumb(organisation.name, leave),), "leave": leave, "here": "ui:members"}


def _at(slug: str) -> str:
    return f"{reverse('ui:tenant', args=[slug])}#texts"
