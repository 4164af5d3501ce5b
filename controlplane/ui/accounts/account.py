"""A person's own account: name, password, machines, tokens (04 §5.16)."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from controlplane.accounts import second_factor, websessions
from controlplane.accounts.attempts import TooManyAttemptsError
from controlplane.accounts.models import ApiToken, WebSession
from controlplane.accounts.people import change_password, rename
from controlplane.arrivals import scope_of_request
from controlplane.ui.accounts.forms import NameForm, PasswordChangeForm
from controlplane.ui.accounts.member_rows import tenants_in_words
from controlplane.ui.accounts.token_forms import TokenForm
from controlplane.ui.accounts.token_rows import token_rows
from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.page import PersonRequest, page

TOO_MANY = "Too many tries. The next one counts in a minute."


@login_required
@require_safe
def me(request: PersonRequest) -> HttpResponse:
    return account_page(request)


def account_page(
    request: PersonRequest,
    status: int = HTTPStatus.UNPROCESSABLE_ENTITY,
    **refused: DesignedForm,
) -> HttpResponse:
    """refused: a form that was not taken, by its name here; status is the answer's then."""
    user = request.user
    own = ApiToken.objects.filter(created_by=user).order_by("-id")
    memberships = user.memberships.select_related("organisation").prefetch_related("tenants")
    context = {
        "person": user,
        "roles": [(held.role, held.organisation, tenants_in_words(held)) for held in memberships],
        "name_form": NameForm(initial={"display_name": user.display_name}),
        "password_form": PasswordChangeForm(),
        "has_factor": second_factor.has_one(user),
        "codes_left": second_factor.codes_left(user),
        "machines": websessions.machines_of(user, request.session.session_key or ""),
        "tokens": token_rows(own.select_related("created_by", "organisation", "tenant")),
        "token_form": TokenForm(scope_of_request(request)),
        **refused,
    }
    answered = status if refused else HTTPStatus.OK
    return page(request, "accounts/me.html", context, here="ui:me", status=answered)


@login_required
@require_POST
def set_name(request: PersonRequest) -> HttpResponse:
    form = NameForm(request.POST)
    if not form.is_valid():
        return account_page(request, name_form=form)
    rename(request.user, form.cleaned_data["display_name"], request.user)
    messages.success(request, "The name is changed.", "ok")
    return redirect("ui:me")


@login_required
@sensitive_post_parameters()
@require_POST
def set_password(request: PersonRequest) -> HttpResponse:
    """Every other machine is signed out; this one stays in."""
    form = PasswordChangeForm(request.POST)
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if form.is_valid():
        cleaned = form.cleaned_data
        try:
            change_password(request.user, current=cleaned["current"], new=cleaned["new"])
        except TooManyAttemptsError:
            form.add_error("current", TOO_MANY)
            status = HTTPStatus.TOO_MANY_REQUESTS
        except ValidationError as refused:
            is_weak = request.user.check_password(cleaned["current"])
            form.refuse(refused, "new" if is_weak else "current")
        else:
            update_session_auth_hash(request, request.user)
            said = "The password is changed. Every other machine is signed out."
            messages.success(request, said, "ok")
            return redirect("ui:me")
    return account_page(request, status, password_form=form)


@login_required
@require_POST
def revoke_machine(request: PersonRequest, session: str) -> HttpResponse:
    found = get_object_or_404(
        WebSession.objects.select_related("user"), user=request.user, uid=session
    )
    websessions.revoke(found, request.user)
    messages.success(request, f"{found.label} is signed out.", "ok")
    return redirect(f"{reverse('ui:me')}#machines")


@login_required
@require_POST
def revoke_others(request: PersonRequest) -> HttpResponse:
    key = request.session.session_key or ""
    ended = websessions.revoke_all(request.user, request.user, but=key)
    said = "No other machine was signed in." if not ended else "Every other machine is signed out."
    messages.success(request, said, "ok")
    return redirect(f"{reverse('ui:me')}#machines")
