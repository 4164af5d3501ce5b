"""Signing in and out, and the choice of light or dark (04 §8.1)."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.accounts import second_factor
from controlplane.accounts.attempts import TooManyAttemptsError
from controlplane.accounts.models import Membership, User
from controlplane.accounts.people import choose_theme as keep_theme
from controlplane.accounts.people import verify_code, verify_sign_in
from controlplane.arrivals import address_of
from controlplane.release import release
from controlplane.ui.accounts.second_factor import OVER, ask_code, person_of
from controlplane.ui.frame.page import THEME_COOKIE, theme

# One sentence for every wrong pair: it must not tell which addresses have an account.
NO_MATCH = "E-mail and password do not match an account."
TOO_MANY = "Too many tries for this account or from this address. The next one counts in a minute."
MANAGER_SESSION_S = 12 * 3600
THEME_YEAR = timedelta(days=365)


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _try(request)
    if request.user.is_authenticated:
        return redirect(next_of(request))
    return _form(request)


def _try(request: HttpRequest) -> HttpResponse:
    try:
        user = verify_sign_in(
            email=request.POST.get("email", ""),
            password=request.POST.get("password", ""),
            address=address_of(request),
        )
    except TooManyAttemptsError:
        return _form(request, TOO_MANY, HTTPStatus.TOO_MANY_REQUESTS)
    if user is None:
        return _form(request, NO_MATCH, HTTPStatus.UNPROCESSABLE_ENTITY)
    if second_factor.has_one(user):
        return ask_code(request, user, next_of(request))
    open_session(request, user)
    return _with_theme(redirect(next_of(request)), user.theme)


@never_cache
@sensitive_post_parameters("code", "ticket")
@require_POST
def give_code(request: HttpRequest) -> HttpResponse:
    """The second step; the ticket of the first one is good for five minutes."""
    user = person_of(request.POST.get("ticket", ""))
    if user is None:
        return _form(request, OVER, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        is_right = verify_code(user, request.POST.get("code", "")[:40], address_of(request))
    except TooManyAttemptsError:
        status = HTTPStatus.TOO_MANY_REQUESTS
        return ask_code(request, user, next_of(request), TOO_MANY, status)
    if not is_right:
        wrong = HTTPStatus.UNPROCESSABLE_ENTITY
        return ask_code(request, user, next_of(request), second_factor.WRONG, wrong)
    open_session(request, user)
    return _with_theme(redirect(next_of(request)), user.theme)


def open_session(request: HttpRequest, user: User) -> None:
    """Under a new name; a manager's is shorter."""
    login(request, user)
    if user.memberships.filter(role=Membership.Role.MANAGER).exists():
        request.session.set_expiry(MANAGER_SESSION_S)


def _form(request: HttpRequest, problem: str = "", status: int = HTTPStatus.OK) -> HttpResponse:
    context = {
        "problem": problem,
        "email": request.POST.get("email", ""),
        "next": next_of(request),
        "theme": theme(request),
        "release": release(),
    }
    return render(request, "accounts/login.html", context, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("ui:login")


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Kept for the person who is signed in, and in a cookie for the pages before that."""
    chosen = request.POST.get("theme", "")
    if chosen not in dict(User._meta.get_field("theme").choices or ()):
        return HttpResponse("theme is light, dark or auto", status=HTTPStatus.BAD_REQUEST)
    if isinstance(request.user, User):
        keep_theme(request.user, chosen)
    return _with_theme(redirect(next_of(request)), chosen)


def _with_theme(response: HttpResponseRedirect, chosen: str) -> HttpResponse:
    response.set_cookie(THEME_COOKIE, chosen, THEME_YEAR, httponly=True, samesite="Lax")
    return response


def next_of(request: HttpRequest) -> str:
    """Where to go on: a path of ours that the form or the address names, else the overview."""
    wanted = request.POST.get("next") or request.GET.get("next") or "/"
    is_ours = url_has_allowed_host_and_scheme(wanted, None, require_https=request.is_secure())
    return wanted if is_ours and wanted.startswith("/") else "/"
