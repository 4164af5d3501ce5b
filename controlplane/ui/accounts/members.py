"""Who belongs to an organisation: roles, invitations, accounts (04 §5.13)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.accounts import members as accounts
from controlplane.accounts import second_factor
from controlplane.accounts.models import Invitation, Membership, Organisation
from controlplane.accounts.people import end_reset, set_active, start_reset
from controlplane.accounts.problems import AccountError
from controlplane.accounts.scopes import Scope
from controlplane.alarms import link_letters
from controlplane.alarms.link_letters import LinkLetter
from controlplane.arrivals import scope_of_request
from controlplane.figures.scope import Choice
from controlplane.ui.accounts.forms import InvitationForm, RoleForm
from controlplane.ui.accounts.member_rows import invitation_rows, is_theirs_alone, member_rows
from controlplane.ui.frame.access import handle_of, name_of, place_of, scope_for
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.showing_once import Once, show_once

WRITE = "member:write"
HERE = "ui:members"
ASKED = ["GET", "HEAD", "POST"]
BY_MAIL = (
    "A link with which the person chooses a password goes to their mailbox and to nobody else."
)
BY_HAND = (
    "A link is made with which the person chooses a password within an hour. Whoever has it could "
    "choose one, so the trail names you beside the person in all that follows, until they have "
    "signed in with an authenticator or with a password that they chose later."
)


@login_required
@require_safe
def members(request: PersonRequest) -> HttpResponse:
    """Of the first organisation that the person administrates, or of the deployment."""
    scope = scope_for(request, WRITE)
    return members_page(request, scope.organisations(WRITE).first())


@login_required
@require_safe
def members_there(request: PersonRequest, place: str) -> HttpResponse:
    return members_page(request, place_of(request, place, WRITE))


def members_page(
    request: PersonRequest, organisation: Organisation | None, form: InvitationForm | None = None
) -> HttpResponse:
    scope = scope_of_request(request)
    tenants = list(organisation.tenants.all()) if organisation else []
    context = {
        "place": handle_of(organisation),
        "organisation": organisation,
        "choices": _choices(scope, organisation),
        "rows": member_rows(organisation),
        "may_allow": scope.may_in("tenant:write", organisation),
        "deployment_allows": settings.CAPTURE_CONTENT,
        "invitations": invitation_rows(organisation),
        "form": form or InvitationForm(organisation, tenants),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form else HTTPStatus.OK
    return page(request, "accounts/members.html", context, here=HERE, status=status)


def _choices(scope: Scope, current: Organisation | None) -> list[Choice]:
    places: list[Organisation | None] = [*scope.organisations(WRITE)]
    if scope.may(WRITE, None):
        places.append(None)
    return [
        Choice(place.name if place else "Managers of the deployment", _at(place), place == current)
        for place in places
    ]


def _at(organisation: Organisation | None) -> str:
    return reverse("ui:members-there", args=[handle_of(organisation)])


# ---- invitations ------------------------------------------------------------------------------


@login_required
@require_POST
def invite(request: PersonRequest, place: str) -> HttpResponse:
    """Answers with the link itself, because nothing may keep it."""
    organisation = place_of(request, place, WRITE)
    tenants = list(organisation.tenants.all()) if organisation else []
    form = InvitationForm(organisation, tenants, request.POST)
    if not form.is_valid():
        return members_page(request, organisation, form)
    wanted = form.cleaned_data
    try:
        invitation, link = accounts.invite(
            wanted["email"], organisation, wanted["role"], request.user, tenants=form.chosen()
        )
    except ValidationError as refused:
        form.refuse(refused, "email")
        return members_page(request, organisation, form)
    if not link_letters.goes_by_mail(organisation):
        return show_once(request, _invited(request, invitation, link))
    address = request.build_absolute_uri(reverse("ui:join", args=[link]))
    if not _mailed(request, link_letters.invitation(invitation.email, address)):
        accounts.withdraw(invitation, request.user)
    return redirect(_at(organisation))


def _mailed(request: PersonRequest, letter: LinkLetter) -> bool:
    """Says whether it went out; a link that did not reach its mailbox must not be good."""
    try:
        link_letters.send(letter)
    except OSError as refused:
        said = f"The mail server did not take the letter to {letter.to}, so its link is void"
        messages.error(request, f"{said}: {refused}", "alarm")
        return False
    messages.success(request, f"A link went by mail to {letter.to}. Nobody else sees it.", "ok")
    return True


def _invited(request: PersonRequest, invitation: Invitation, link: str) -> Once:
    organisation = invitation.organisation
    return Once(
        title=f"An invitation for {invitation.email}",
        lede="Send this link to the person; it is good for 7 days and for one account. This is "
        "the only time it is shown: if it is lost, invite again.",
        what="The link of the invitation",
        plaintext=request.build_absolute_uri(reverse("ui:join", args=[link])),
        facts=(("Role", invitation.role), ("In", name_of(organisation))),
        leave=_at(organisation),
        done="Done, the link is kept",
        crumbs=(Crumb("Members", _at(organisation)),),
        here=HERE,
    )


@login_required
@require_http_methods(ASKED)
def withdraw(request: PersonRequest, place: str, invitation: str) -> HttpResponse:
    organisation = place_of(request, place, WRITE)
    pending = get_object_or_404(
        Invitation.objects.select_related("organisation"), organisation=organisation, uid=invitation
    )
    if request.method == "POST":
        accounts.withdraw(pending, request.user)
        messages.success(request, f"The invitation of {pending.email} is withdrawn.", "ok")
        return redirect(_at(organisation))
    question = Question(
        title=f"Withdraw the invitation of {pending.email}?",
        lede="Its link stops working at once. The person can be invited again.",
        act="Withdraw it",
        crumbs=(Crumb("Members", _at(organisation)),),
        leave=_at(organisation),
        here=HERE,
    )
    return ask(request, question)


# ---- one person -------------------------------------------------------------------------------


@login_required
@require_http_methods(ASKED)
def member(request: PersonRequest, place: str, person: str) -> HttpResponse:
    """GET shows role and account, POST gives another role or other tenants."""
    membership = _membership(request, place, person)
    organisation, user = membership.organisation, membership.user
    form = _role_form(membership, request.POST if request.method == "POST" else None)
    if form.is_valid():
        role = form.cleaned_data["role"]
        accounts.set_member(user, organisation, role, request.user, tenants=form.chosen())
        messages.success(request, f"{user.email} is {role} from the next request on.", "ok")
        return redirect(_at(organisation))
    return _member_page(request, membership, form)


def _role_form(membership: Membership, sent: QueryDict | None = None) -> RoleForm:
    organisation = membership.organisation
    tenants = list(organisation.tenants.all()) if organisation else []
    chosen = [tenant.uid for tenant in membership.tenants.all()]
    return RoleForm(
        organisation, tenants, sent, initial={"role": membership.role, "tenants": chosen}
    )


def _member_page(
    request: PersonRequest,
    membership: Membership,
    form: RoleForm | None = None,
    refused: AccountError | None = None,
) -> HttpResponse:
    organisation = membership.organisation
    context = {
        "place": handle_of(organisation),
        "where": name_of(organisation),
        "organisation": organisation,
        "membership": membership,
        "person": membership.user,
        "form": form or _role_form(membership),
        "may_act": is_theirs_alone(scope_of_request(request), membership.user),
        "is_self": membership.user == request.user,
        "has_factor": second_factor.has_one(membership.user),
        "may_forget": _may_forget(request, membership),
        "refused": refused,
    }
    wrong = HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else HTTPStatus.OK
    status = refused.status if refused else wrong
    return page(request, "accounts/member.html", context, here=HERE, status=status)


@login_required
@require_http_methods(ASKED)
def remove(request: PersonRequest, place: str, person: str) -> HttpResponse:
    membership = _membership(request, place, person)
    where = name_of(membership.organisation)
    if request.method == "POST":
        try:
            accounts.remove_member(membership, request.user)
        except AccountError as refused:
            return _member_page(request, membership, refused=refused)
        messages.success(request, f"{membership.user.email} left {where}.", "ok")
        return redirect(_at(membership.organisation))
    question = Question(
        title=f"Remove {membership.user.email} from {where}?",
        lede="The role ends with the next request. The account stays, and so does what it did.",
        act="Remove the member",
        **_around(membership),
    )
    return ask(request, question)


@login_required
@require_http_methods(ASKED)
def activity(request: PersonRequest, place: str, person: str) -> HttpResponse:
    """Keep somebody out, or let them in again."""
    membership = _membership(request, place, person, acts_on_account=True)
    user = membership.user
    if request.method == "POST":
        active = request.POST.get("active") == "yes"
        try:
            set_active(user, active=active, by=request.user)
        except AccountError as refused:
            return _member_page(request, membership, refused=refused)
        said = "may sign in again" if active else "is kept out and signed out everywhere"
        messages.success(request, f"{user.email} {said}.", "ok")
        return redirect(_at(membership.organisation))
    return _member_page(request, membership)


@login_required
@never_cache
@require_http_methods(ASKED)
def reset(request: PersonRequest, place: str, person: str) -> HttpResponse:
    """A link with which the person, and nobody else, chooses a new password."""
    membership = _membership(request, place, person, acts_on_account=True)
    user = membership.user
    by_mail = link_letters.goes_by_mail(membership.organisation)
    if request.method == "POST":
        return _reset(request, membership, by_mail=by_mail)
    question = Question(
        title=f"A new password for {user.email}?",
        lede=f"{BY_MAIL if by_mail else BY_HAND} Until then the present one works; afterwards "
        "every machine is signed out.",
        act="Send the link" if by_mail else "Make the link",
        keep="Leave it as it is",
        is_danger=False,
        **_around(membership),
    )
    return ask(request, question)


def _reset(request: PersonRequest, membership: Membership, *, by_mail: bool) -> HttpResponse:
    user = membership.user
    try:
        link = start_reset(user, request.user, by_mail=by_mail)
    except AccountError as refused:
        return _member_page(request, membership, refused=refused)
    if not by_mail:
        return show_once(request, _reset_link(request, membership, link))
    address = request.build_absolute_uri(reverse("ui:new-password", args=[link]))
    if not _mailed(request, link_letters.new_password(user.email, address)):
        end_reset(user)
    return redirect(_around(membership)["leave"])


def _reset_link(request: PersonRequest, membership: Membership, link: str) -> Once:
    return Once(
        title=f"A link for {membership.user.email}",
        lede="Hand it to the person and to nobody else: whoever opens it first chooses the "
        "password. It is good for an hour and for one use, and this is the only time it is shown.",
        what="The link for a new password",
        plaintext=request.build_absolute_uri(reverse("ui:new-password", args=[link])),
        leave=_at(membership.organisation),
        done="Done, the link is kept",
        crumbs=_around(membership)["crumbs"],
        here=HERE,
    )


@login_required
@require_http_methods(ASKED)
def forget_factor(request: PersonRequest, place: str, person: str) -> HttpResponse:
    """For somebody who lost the authenticator and the recovery codes; a manager's deed alone."""
    membership = _membership(request, place, person, acts_on_account=True)
    user = membership.user
    if not _may_forget(request, membership):
        raise PermissionDenied
    if request.method == "POST":
        try:
            second_factor.remove(user, request.user)
        except AccountError as refused:
            return _member_page(request, membership, refused=refused)
        messages.success(request, f"{user.email} signs in with the password alone.", "ok")
        return redirect(_at(membership.organisation))
    question = Question(
        title=f"Take away the second factor of {user.email}?",
        lede="The password alone opens the account until another authenticator is enrolled. Make "
        "sure that it is the person who asks for this. The trail names you beside the person until "
        "they sign in with another one, or with a new password.",
        act="Take it away",
        already="" if second_factor.has_one(user) else "The account has no second factor.",
        **_around(membership),
    )
    return ask(request, question)


def _may_forget(request: PersonRequest, membership: Membership) -> bool:
    """A manager of the deployment, for somebody else: one's own goes with its code."""
    manages = scope_of_request(request).may(WRITE, None)
    return manages and membership.user != request.user


def _membership(
    request: PersonRequest, place: str, person: str, *, acts_on_account: bool = False
) -> Membership:
    """acts_on_account: refused where the person also belongs to somewhere else."""
    organisation = place_of(request, place, WRITE)
    membership = get_object_or_404(
        Membership.objects.select_related("user", "organisation").prefetch_related("tenants"),
        organisation=organisation,
        user__uid=person,
    )
    if acts_on_account and not is_theirs_alone(scope_of_request(request), membership.user):
        raise PermissionDenied
    return membership


def _around(membership: Membership) -> dict[str, Any]:
    organisation, user = membership.organisation, membership.user
    own = reverse("ui:member", args=[handle_of(organisation), user.uid])
    crumbs = (Crumb("Members", _at(organisation)), Crumb(user.email, own))
    return {"crumbs": crumbs, "leave": own, "here": HERE}
