"""Ways in for somebody with a link: an invitation, a new password (04 §1.1, 8.1)."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from controlplane.accounts.members import accept_as, accept_as_newcomer, invitation_of
from controlplane.accounts.models import Invitation, User
from controlplane.accounts.people import reset_password
from controlplane.accounts.problems import LinkError
from controlplane.release import release
from controlplane.ui.accounts.forms import NewcomerForm, NewPasswordForm
from controlplane.ui.accounts.signin import open_session
from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.page import theme

ASKED = ["GET", "HEAD", "POST"]


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(ASKED)
def join(request: HttpRequest, link: str) -> HttpResponse:
    """Someone new makes an account; someone known signs in first and then joins."""
    try:
        invitation = invitation_of(link)
        if User.objects.filter(email=invitation.email).exists():
            return _join_known(request, link, invitation)
        return _join_new(request, link, invitation)
    except LinkError as over:
        return _over(request, over)


def _join_new(request: HttpRequest, link: str, invitation: Invitation) -> HttpResponse:
    form = NewcomerForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        wanted = form.cleaned_data
        try:
            user = accept_as_newcomer(
                link, password=wanted["password"], display_name=wanted["display_name"]
            )
        except ValidationError as refused:
            form.refuse(refused, "password")
        else:
            open_session(request, user)
            return redirect("ui:overview")
    return _door(request, "accounts/join.html", form, invitation=invitation)


def _join_known(request: HttpRequest, link: str, invitation: Invitation) -> HttpResponse:
    is_invited = isinstance(request.user, User) and request.user.email == invitation.email
    if request.method == "POST" and isinstance(request.user, User):
        membership = accept_as(link, request.user)
        messages.success(request, f"You are {membership.role} now.", "ok")
        return redirect("ui:overview")
    context = {"invitation": invitation, "is_known": True, "is_invited": is_invited}
    return _door(request, "accounts/join.html", None, **context)


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(ASKED)
def new_password(request: HttpRequest, link: str) -> HttpResponse:
    """The link is looked at when it is used, so that opening it does not use it up."""
    form = NewPasswordForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            reset_password(link, form.cleaned_data["password"])
        except LinkError as over:
            return _over(request, over)
        except ValidationError as refused:
            form.refuse(refused, "password")
        else:
            messages.success(request, "The new password is set. Sign in with it.", "ok")
            return redirect("ui:login")
    return _door(request, "accounts/new_password.html", form)


def _door(
    request: HttpRequest, template: str, form: DesignedForm | None, **more: object
) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else HTTPStatus.OK
    context = {"form": form, "theme": theme(request), "release": release(), **more}
    return render(request, template, context, status=status)


def _over(request: HttpRequest, over: LinkError) -> HttpResponse:
    context = {"problem": str(over), "theme": theme(request), "release": release()}
    return render(request, "accounts/link_over.html", context, status=HTTPStatus.NOT_FOUND)
