"""The deployment's allow-list of providers; tenants choose from it by name (04 §1.2)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods

from controlplane.accounts import upstreams as accounts
from controlplane.accounts.models import Secret, Upstream
from controlplane.accounts.upstream_urls import CODE
from controlplane.arrivals import scope_of_request
from controlplane.ui.deployment.upstream_forms import UpstreamForm, UpstreamTermsForm
from controlplane.ui.frame.access import deployment_scope
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.verdicts import Verdict

WRITE = "upstream:write"
HERE = "ui:upstream-list"
ASKED = ["GET", "HEAD", "POST"]
OFFERED = Verdict("offered", "ok", "ok")
NOT_OFFERED = Verdict("not offered", "pause", "quiet")


@dataclass(frozen=True, slots=True)
class UpstreamRow:
    """badges: what a manager allowed beyond the rules. tenants: how many chose it."""

    uid: str
    name: str
    dialect: str
    base_url: str
    key: str
    badges: tuple[Verdict, ...]
    tenants: int
    state: Verdict


@login_required
@require_http_methods(ASKED)
def upstreams(request: PersonRequest) -> HttpResponse:
    """GET lists them, POST adds one."""
    deployment_scope(request, WRITE)
    form = UpstreamForm(_keys(), request.POST if request.method == "POST" else None)
    if form.is_valid():
        cleaned = form.cleaned_data
        try:
            made = accounts.create_upstream(
                name=cleaned["name"],
                dialect=cleaned["dialect"],
                base_url=cleaned["base_url"],
                by=request.user,
                terms=form.terms(),
            )
        except ValidationError as refused:
            refuse(form, refused)
        else:
            messages.success(request, f"{made.name} can be chosen now.", "ok")
            return redirect(HERE)
    context = {"rows": upstream_rows(), "form": form}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return page(request, "upstreams/upstreams.html", context, here=HERE, status=status)


@login_required
@require_http_methods(ASKED)
def change(request: PersonRequest, upstream: str) -> HttpResponse:
    """All of its terms at once. To whom the list is closed, it is absent."""
    if not scope_of_request(request).may(WRITE, None):
        raise Http404
    provider = get_object_or_404(Upstream.objects.select_related("key_secret"), uid=upstream)
    terms = starting_with(provider)
    form = UpstreamTermsForm(
        _keys(), request.POST if request.method == "POST" else None, initial=terms
    )
    if form.is_valid():
        try:
            accounts.change_upstream(
                provider, form.terms(), base_url=form.cleaned_data["base_url"], by=request.user
            )
        except ValidationError as refused:
            refuse(form, refused)
        else:
            messages.success(request, f"{provider.name} is changed; its tenants follow.", "ok")
            return redirect(HERE)
    tenants = [chosen.tenant for chosen in provider.chosen_by.select_related("tenant")]
    context = {"upstream": provider, "form": form, "tenants": tenants}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return page(request, "upstreams/upstream.html", context, here=HERE, status=status)


def starting_with(upstream: Upstream) -> dict[str, object]:
    """What the form starts with."""
    terms = accounts.terms_of(upstream)
    held = terms.key_secret.uid if terms.key_secret else ""
    names = [field.name for field in fields(terms)]
    kept = {name: getattr(terms, name) for name in names if name != "key_secret"}
    return {**kept, "key_secret": held, "base_url": upstream.base_url}


def refuse(form: UpstreamTermsForm, refused: ValidationError) -> None:
    """An address that breaks a rule is said beside it, with the rule's name."""
    if getattr(refused, "code", None) != CODE:
        form.refuse(refused)
        return
    rule = (refused.params or {}).get("rule", "form")
    form.add_error("base_url", f"Rule “{rule}”: {refused.message}")


def _keys() -> list[Secret]:
    held = Secret.objects.filter(organisation=None, tenant=None, kind=Secret.Kind.PROVIDER_KEY)
    return list(held)


def upstream_rows() -> list[UpstreamRow]:
    found = Upstream.objects.select_related("key_secret").annotate(tenants=Count("chosen_by"))
    return [_row(upstream, upstream.tenants) for upstream in found.order_by("dialect", "name")]


def _row(upstream: Upstream, tenants: int) -> UpstreamRow:
    allowed = (
        ("private network", "lock", upstream.allow_private),
        ("plain http", "watch", upstream.allow_insecure),
        ("conversations at the provider", "sessions", upstream.allow_server_state),
    )
    return UpstreamRow(
        uid=upstream.uid,
        name=upstream.name,
        dialect=Upstream.Dialect(upstream.dialect).label,
        base_url=upstream.base_url,
        key=upstream.key_secret.name if upstream.key_secret else "",
        badges=tuple(Verdict(word, icon, "watch") for word, icon, is_so in allowed if is_so),
        tenants=tenants,
        state=OFFERED if upstream.enabled else NOT_OFFERED,
    )
