"""The second step of a sign-in, and the authenticator behind it (04 §5.16, 8.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import segno
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from controlplane.accounts import second_factor
from controlplane.accounts.attempts import TooManyAttemptsError
from controlplane.accounts.models import User
from controlplane.release import release
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.page import PersonRequest, page, theme
from controlplane.ui.frame.showing_once import Once, show_once

ASKED = ["GET", "HEAD", "POST"]
HERE = "ui:me"
TICKET_SALT = "signin.second-factor"
TICKET_S = 300
OVER = "The sign-in took longer than five minutes. Begin again."
TOO_MANY = "Too many wrong codes. The next one counts in a minute."
REFUSALS = (ValidationError, TooManyAttemptsError)
OPEN_TO_ALL = ("/me/second-factor", "/logout", "/theme", "/api/", "/docs/", "/healthz")
Answer = Callable[[HttpRequest], HttpResponse]


class CodeForm(DesignedForm):
    ids = "code"

    code = forms.CharField(
        max_length=40,
        label="Code of the authenticator",
        help_text="Six digits that change every 30 seconds.",
        error_messages={"required": "Enter the code that the authenticator shows."},
        widget=forms.TextInput(
            attrs={
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
                "spellcheck": "false",
                "autofocus": True,
            }
        ),
    )


class FirstEnrol:
    """Whoever owes a second factor is led to it from every page."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user
        is_free = request.path.startswith(OPEN_TO_ALL)
        if is_free or not isinstance(user, User) or not second_factor.is_owed(user):
            return self._answer(request)
        enrol = reverse("ui:second-factor")
        if request.headers.get("hx-request"):
            return HttpResponseClientRedirect(enrol)
        return redirect(enrol)


# ---- signing in -------------------------------------------------------------------------------


def ask_code(
    request: HttpRequest, user: User, way_on: str, problem: str = "", status: int = HTTPStatus.OK
) -> HttpResponse:
    """The page between password and session. It holds a ticket; nothing is signed in yet."""
    context = {
        "ticket": signing.dumps([user.uid, _mark(user)], salt=TICKET_SALT),
        "problem": problem,
        "next": way_on,
        "theme": theme(request),
        "release": release(),
    }
    return render(request, "accounts/login_code.html", context, status=status)


def person_of(ticket: str) -> User | None:
    """Who was right about the password a moment ago; None when that is over."""
    try:
        uid, mark = signing.loads(ticket, salt=TICKET_SALT, max_age=TICKET_S)
    except (signing.BadSignature, ValueError):
        return None
    user = User.objects.filter(uid=uid, is_active=True).first()
    return user if user is not None and _mark(user) == mark else None


def _mark(user: User) -> str:
    """Changes with the password, which ends the ticket."""
    return user.get_session_auth_hash()[:16]


# ---- one's own --------------------------------------------------------------------------------


@login_required
@never_cache
@require_http_methods(ASKED)
def enrol(request: PersonRequest) -> HttpResponse:
    """GET shows what the authenticator reads, POST takes its first code."""
    if second_factor.has_one(request.user):
        return redirect(f"{reverse(HERE)}#second-factor")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            codes = second_factor.confirm(request.user, form.cleaned_data["code"])
        except ValidationError as refused:
            form.refuse(refused, "code")
        else:
            return _codes(request, codes)
    begun = second_factor.begin(request.user)
    context = {
        "form": form,
        "secret": " ".join(begun.secret[i : i + 4] for i in range(0, len(begun.secret), 4)),
        "code": picture(begun.address),
        "is_owed": second_factor.is_owed(request.user),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return page(request, "accounts/second_factor.html", context, here=HERE, status=status)


def picture(address: str) -> SafeString:
    """A QR code as SVG without styles of its own, so that it is drawn under the page's policy."""
    drawn = segno.make(address, error="m").svg_inline(svgclass="qr", lineclass=None, omitsize=True)
    return mark_safe(drawn)  # noqa: S308  drawn by us from an address that is percent-encoded


def _codes(request: PersonRequest, codes: Sequence[str]) -> HttpResponse:
    """Shown a single time, like every credential."""
    own = f"{reverse(HERE)}#second-factor"
    return show_once(
        request,
        Once(
            title="Your recovery codes",
            lede="Each one stands for the authenticator once, when that is lost. Keep them where "
            "you keep what you cannot lose; this is the only time they are shown.",
            what="The recovery codes",
            plaintext="\n".join(codes),
            leave=own,
            done="Done, the codes are kept",
            crumbs=(Crumb("Your account", reverse(HERE)),),
            here=HERE,
        ),
    )


@login_required
@never_cache
@require_http_methods(ASKED)
def codes(request: PersonRequest) -> HttpResponse:
    """New recovery codes in place of the earlier ones."""
    form, status = CodeForm(request.POST if request.method == "POST" else None), None
    if form.is_valid():
        try:
            return _codes(
                request, second_factor.renew_codes(request.user, form.cleaned_data["code"])
            )
        except REFUSALS as refused:
            status = _refused(form, refused)
    question = Question(
        title="New recovery codes?",
        lede="The earlier ones stop working, also those that are not used yet.",
        act="Make new codes",
        is_danger=False,
        **_around(),
    )
    return ask(request, question, form, status)


@login_required
@never_cache
@require_http_methods(ASKED)
def remove(request: PersonRequest) -> HttpResponse:
    """The password alone opens the account afterwards, or a new authenticator where one is owed."""
    form, status = CodeForm(request.POST if request.method == "POST" else None), None
    if form.is_valid():
        try:
            second_factor.give_up(request.user, form.cleaned_data["code"])
        except REFUSALS as refused:
            status = _refused(form, refused)
        else:
            messages.success(request, "The authenticator is no longer asked for.", "ok")
            return redirect(f"{reverse(HERE)}#second-factor")
    question = Question(
        title="Take the second factor away?",
        lede="Whoever knows the password is in then. Where the deployment demands a second factor "
        "of your role, you are asked to enrol another one at once.",
        act="Take it away",
        **_around(),
    )
    return ask(request, question, form, status)


def _refused(form: CodeForm, refused: ValidationError | TooManyAttemptsError) -> HTTPStatus:
    """Said beside the code; the status of the page that says it."""
    if isinstance(refused, TooManyAttemptsError):
        form.add_error("code", TOO_MANY)
        return HTTPStatus.TOO_MANY_REQUESTS
    form.refuse(refused, "code")
    return HTTPStatus.UNPROCESSABLE_ENTITY


def _around() -> dict[str, Any]:
    own = reverse(HERE)
    leave = f"{own}#second-factor"
    return {"crumbs": (Crumb("Your account", own),), "leave": leave, "here": HERE}
