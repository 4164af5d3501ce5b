"""Secrets that we hold: put, replaced, removed, and never shown (04 §8.5)."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from controlplane.accounts import vault
from controlplane.accounts.models import Organisation, Secret
from controlplane.accounts.scopes import Scope
from controlplane.arrivals import scope_of_request
from controlplane.ui.deployment.upstream_forms import KINDS, SecretForm, SecretValueForm
from controlplane.ui.frame.access import scope_for
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.page import PersonRequest, page

WRITE = vault.WRITE
HERE = "ui:secrets"
ASKED = ["GET", "HEAD", "POST"]


@dataclass(frozen=True, slots=True)
class Holding:
    """What one owner holds, each with its kind in words."""

    owner: str
    rows: tuple[tuple[vault.SecretRow, str], ...]


@login_required
@sensitive_post_parameters("value")
@require_http_methods(ASKED)
def secrets(request: PersonRequest) -> HttpResponse:
    """GET lists them, POST puts one, in place of an earlier one of the name."""
    owners = _owners(scope_for(request, WRITE))
    form = SecretForm(owners, request.POST if request.method == "POST" else None)
    if form.is_valid():
        cleaned = form.cleaned_data
        try:
            kept = vault.put_secret(
                form.owner_chosen(),
                cleaned["name"],
                cleaned["value"],
                kind=cleaned["kind"],
                by=request.user,
            )
        except ValidationError as refused:
            form.refuse(refused, "value")
        else:
            messages.success(request, f"{kept.name} is kept, version {kept.version}.", "ok")
            return redirect(HERE)
    context = {"holdings": [_holding(owner) for owner in owners], "form": form}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return page(request, "upstreams/secrets.html", context, here=HERE, status=status)


def _holding(owner: Organisation | None) -> Holding:
    words = dict(KINDS)
    rows = tuple((row, words[Secret.Kind(row.kind)]) for row in vault.secrets_of(owner))
    return Holding(owner.name if owner else "The deployment", rows)


def _owners(scope: Scope) -> list[Organisation | None]:
    """The deployment first, for whom it is open."""
    organisations: list[Organisation | None] = [*scope.organisations(WRITE)]
    return [None, *organisations] if scope.may(WRITE, None) else organisations


@login_required
@sensitive_post_parameters("value")
@require_http_methods(ASKED)
def replace(request: PersonRequest, secret: str) -> HttpResponse:
    """GET asks for the new value, POST keeps it."""
    held = _secret_of(request, secret)
    form = SecretValueForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        owner = held.tenant or held.organisation
        try:
            value = form.cleaned_data["value"]
            kept = vault.put_secret(owner, held.name, value, kind=held.kind, by=request.user)
        except ValidationError as refused:
            form.refuse(refused, "value")
        else:
            messages.success(request, f"{kept.name} is replaced, version {kept.version}.", "ok")
            return redirect(HERE)
    question = Question(
        title=f"Replace {held.name}?",
        lede=f"Version {held.version} with the fingerprint {held.fingerprint} is in use. The "
        "next request uses the new value.",
        act="Replace the value",
        is_danger=False,
        **_around(),
    )
    return ask(request, question, form)


@login_required
@require_http_methods(ASKED)
def remove(request: PersonRequest, secret: str) -> HttpResponse:
    held = _secret_of(request, secret)
    users = ", ".join(upstream.name for upstream in held.upstreams.all())
    if request.method == "POST" and not users:
        vault.remove_secret(held, request.user)
        messages.success(request, f"{held.name} is removed.", "ok")
        return redirect(HERE)
    question = Question(
        title=f"Remove {held.name}?",
        lede="The value is gone for good; nobody can read it out before.",
        act="Remove the secret",
        already=f"It cannot be removed: the upstream {users} uses it." if users else "",
        **_around(),
    )
    return ask(request, question)


def _secret_of(request: PersonRequest, uid: str) -> Secret:
    """Http404 for one that is unknown or not theirs to write."""
    owners = Secret.objects.select_related("organisation", "tenant__organisation")
    found = owners.filter(uid=uid).first()
    scope = scope_of_request(request)
    if found is None or not vault.may_write(scope, found):
        raise Http404
    return found


def _around() -> dict[str, Any]:
    listed = reverse(HERE)
    return {"crumbs": (Crumb("Secrets", listed),), "leave": listed, "here": HERE}
