"""Tokens of the API: a person's own, and for admins those of the organisation (04 §5.16)."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.accounts.models import ApiToken
from controlplane.accounts.tokens import (
    issue_token,
    may_manage,
    revoke_token,
    rotate_token,
    tokens_of,
)
from controlplane.arrivals import scope_of_request
from controlplane.ui.accounts.account import account_page
from controlplane.ui.accounts.token_forms import TokenForm
from controlplane.ui.accounts.token_rows import in_words, token_rows, where_of
from controlplane.ui.frame.access import scope_for
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.credentials import OverlapForm
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.showing_once import Once, show_once

ASKED = ["GET", "HEAD", "POST"]


@login_required
@require_safe
def tokens(request: PersonRequest) -> HttpResponse:
    """Every token that whoever asks may end."""
    scope = scope_for(request, "token:write")
    rows = token_rows(tokens_of(scope))
    return page(request, "accounts/tokens.html", {"rows": rows}, here="ui:tokens")


@login_required
@require_POST
def issue(request: PersonRequest) -> HttpResponse:
    """In the person's own name; answers with the token itself, because nothing may keep it."""
    form = TokenForm(scope_of_request(request), request.POST)
    if not form.is_valid():
        return account_page(request, token_form=form)
    try:
        token, plaintext = issue_token(
            request.user, form.cleaned_data["name"], request.user, form.terms()
        )
    except ValidationError as refused:
        form.refuse(refused)
        return account_page(request, token_form=form)
    return show_once(request, _shown(request, token, plaintext))


@login_required
@never_cache
@require_http_methods(ASKED)
def rotate(request: PersonRequest, token: str) -> HttpResponse:
    """GET asks for the overlap, POST answers with the new token; its owner alone may see it."""
    api_token = _token_of(request, token)
    if not _is_own(request, api_token):
        raise Http404
    form = OverlapForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            fresh, plaintext = rotate_token(api_token, request.user, overlap=form.duration())
        except ValidationError as refused:
            form.refuse(refused)
        else:
            return show_once(request, _shown(request, fresh, plaintext))
    question = Question(
        title=f"Rotate {api_token.name}?",
        lede=f"A new token of the same terms takes over from cg_api_{api_token.prefix}….",
        act="Rotate the token",
        is_danger=False,
        **_around(request, api_token),
    )
    return ask(request, question, form)


@login_required
@require_http_methods(ASKED)
def revoke(request: PersonRequest, token: str) -> HttpResponse:
    api_token = _token_of(request, token)
    if request.method == "POST":
        revoke_token(api_token, request.user)
        messages.success(request, f"The token {api_token.name} is revoked.", "ok")
        return redirect(_list_of(request, api_token))
    question = Question(
        title=f"Revoke {api_token.name}?",
        lede=f"Calls with cg_api_{api_token.prefix}… get 401 from the next one on. A revoked token "
        "cannot be made live again.",
        act="Revoke the token",
        already="It is revoked already." if api_token.revoked_at else "",
        **_around(request, api_token),
    )
    return ask(request, question)


def _token_of(request: PersonRequest, uid: str) -> ApiToken:
    """Http404 for one that is unknown or not theirs to end."""
    named = ApiToken.objects.select_related("created_by", "organisation", "tenant__organisation")
    token = named.filter(uid=uid).first()
    if token is None or not may_manage(scope_of_request(request), token):
        raise Http404
    return token


def _shown(request: PersonRequest, token: ApiToken, plaintext: str) -> Once:
    around = _around(request, token)
    return Once(
        title=f"A token for {token.name}",
        lede="Send it as “authorization: Bearer …” to /api/v1. This is the only time it is shown; "
        "if it is lost, rotate it.",
        what="The token",
        plaintext=plaintext,
        facts=(
            ("May", in_words(token.scopes)),
            ("Where", where_of(token)),
            ("Ends", f"{token.expires_at:%Y-%m-%d %H:%M} UTC"),
        ),
        leave=around["leave"],
        done="Done, the token is kept",
        crumbs=around["crumbs"],
        here=around["here"],
    )


def _is_own(request: PersonRequest, token: ApiToken) -> bool:
    return token.created_by_id == request.user.pk


def _list_of(request: PersonRequest, token: ApiToken) -> str:
    return f"{reverse('ui:me')}#tokens" if _is_own(request, token) else reverse("ui:tokens")


def _around(request: PersonRequest, token: ApiToken) -> dict[str, Any]:
    own = _is_own(request, token)
    leave = _list_of(request, token)
    crumb = Crumb("Your account" if own else "API tokens", leave)
    return {"crumbs": (crumb,), "leave": leave, "here": "ui:me" if own else "ui:tokens"}
