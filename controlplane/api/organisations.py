"""Organisations, who belongs to them, who is invited (04 §1.1, 6.3)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router, Status

from controlplane.accounts import members as accounts
from controlplane.accounts.actions import change_organisation, create_organisation
from controlplane.accounts.models import Invitation, Membership, Organisation, Tenant
from controlplane.accounts.queries import members_of, open_invitations
from controlplane.alarms import link_letters
from controlplane.api import account_schemas as schemas
from controlplane.api import shown_accounts as shown
from controlplane.api.access import deployment, organisation_of, plain, scope_of
from controlplane.api.documents import Paging
from controlplane.api.operations import operation
from controlplane.api.paging import Page, Slice
from controlplane.api.refusals import RefusedError, invalid, not_found
from controlplane.audit.actions import Actor
from controlplane.configs import visible

router = Router(tags=["organisations"])
SEEN, TENANTS, MEMBERS = "telemetry:read", "tenant:write", "member:write"
PLACE = "/organisations/{uid}"


@operation(
    router, "GET", "/organisations", scope=SEEN, tenancy="organisation", listed=True,
    response={200: Page[schemas.OrganisationOut]},
)  # fmt: skip
def list_organisations(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """The organisations that the caller belongs to, the newest first."""
    rows = visible.organisations(scope_of(request), SEEN)
    found = Slice(rows, limit=paging.limit, cursor=paging.cursor)
    return {"items": [shown.organisation(row) for row in found.rows], **found.cursors}


@operation(
    router, "POST", "/organisations", scope=TENANTS, tenancy="deployment",
    response={201: schemas.OrganisationOut},
)  # fmt: skip
def add_organisation(
    request: HttpRequest, body: schemas.NewOrganisation, response: HttpResponse
) -> Any:
    """An organisation without members; a manager's deed."""
    by = deployment(request, TENANTS).principal
    made = create_organisation(name=body.name, slug=body.slug, by=by)
    response.headers["Location"] = f"/api/v1/organisations/{made.uid}"
    return Status(201, shown.organisation(made))


@operation(
    router, "GET", PLACE, scope=SEEN, tenancy="organisation",
    response={200: schemas.OrganisationOut},
)  # fmt: skip
def get_organisation(request: HttpRequest, uid: str) -> schemas.OrganisationOut:
    """One organisation, by uid or slug."""
    seen = visible.organisations(scope_of(request), SEEN)
    found = seen.filter(uid=plain(uid)).first() or seen.filter(slug=uid).first()
    if found is None:
        raise not_found()
    return shown.organisation(found)


@operation(
    router, "PATCH", PLACE, scope=TENANTS, tenancy="organisation",
    response={200: schemas.OrganisationOut},
)  # fmt: skip
def patch_organisation(
    request: HttpRequest, uid: str, body: schemas.OrganisationChange
) -> schemas.OrganisationOut:
    """Its name and the rules of its policy; what is left out stays."""
    found = organisation_of(request, uid, TENANTS)
    by = scope_of(request).principal
    changed = change_organisation(found, name=body.name, policy=body.policy, by=by)
    return shown.organisation(changed)


# ---- members ----------------------------------------------------------------------------------


@operation(
    router, "GET", f"{PLACE}/members", scope=MEMBERS, tenancy="organisation",
    response={200: schemas.MembersOut},
)  # fmt: skip
def list_members(request: HttpRequest, uid: str) -> dict[str, Any]:
    """Everybody with a role here, by e-mail address."""
    rows = members_of(organisation_of(request, uid, MEMBERS))
    return {"items": [shown.member(row) for row in rows]}


@operation(
    router, "PATCH", f"{PLACE}/members/{{person}}", scope=MEMBERS, tenancy="organisation",
    response={200: schemas.MemberOut},
)  # fmt: skip
def patch_member(
    request: HttpRequest, uid: str, person: str, body: schemas.MemberChange
) -> schemas.MemberOut:
    """Another role or other tenants, from the person's next request on."""
    held = _membership(request, uid, person)
    tenants = _tenants(held.organisation, body.tenants)
    by = scope_of(request).principal
    changed = accounts.set_member(held.user, held.organisation, body.role, by, tenants=tenants)
    return shown.member(changed)


@operation(
    router, "DELETE", f"{PLACE}/members/{{person}}", scope=MEMBERS, tenancy="organisation",
    response={204: None},
)  # fmt: skip
def remove_member(request: HttpRequest, uid: str, person: str) -> Any:
    """The role ends with the next request; the account stays, and so does what it did."""
    accounts.remove_member(_membership(request, uid, person), scope_of(request).principal)
    return Status(204, None)


def _membership(request: HttpRequest, uid: str, person: str) -> Membership:
    organisation = organisation_of(request, uid, MEMBERS)
    held = Membership.objects.select_related("user", "organisation")
    found = held.filter(organisation=organisation, user__uid=plain(person)).first()
    if found is None:
        raise not_found()
    return found


def _tenants(organisation: Organisation | None, uids: list[str]) -> list[Tenant]:
    found = list(Tenant.objects.filter(organisation=organisation, uid__in=uids))
    if len(found) != len(set(uids)):
        raise invalid("/tenants", "The organisation has no such tenant.")
    return found


# ---- invitations ------------------------------------------------------------------------------


@operation(
    router, "GET", f"{PLACE}/invitations", scope=MEMBERS, tenancy="organisation",
    response={200: schemas.InvitationsOut},
)  # fmt: skip
def list_invitations(request: HttpRequest, uid: str) -> dict[str, Any]:
    """Those that are open: neither accepted nor withdrawn nor over."""
    rows = open_invitations(organisation_of(request, uid, MEMBERS))
    return {"items": [shown.invitation(row) for row in rows]}


@operation(
    router, "POST", f"{PLACE}/invitations", scope=MEMBERS, tenancy="organisation", once="link",
    response={201: schemas.InvitationLink},
)  # fmt: skip
def invite(request: HttpRequest, uid: str, body: schemas.NewInvitation) -> Any:
    """A way in for one address, for 7 days; it replaces an open one. The link is shown once, and
    not at all where the deployment has a channel for mail: then it goes to the address alone.
    """
    organisation = organisation_of(request, uid, MEMBERS)
    tenants = _tenants(organisation, body.tenants)
    by = scope_of(request).principal
    made, link = accounts.invite(body.email, organisation, body.role, by, tenants=tenants)
    address = request.build_absolute_uri(reverse("ui:join", args=[link]))
    if link_letters.goes_by_mail(organisation):
        _mail(made, address, by)
        address = ""
    return Status(201, {**shown.invitation(made), "link": address or None})


def _mail(invitation: Invitation, address: str, by: Actor | None) -> None:
    """A link that does not reach its mailbox is not good."""
    try:
        link_letters.send(link_letters.invitation(invitation.email, address))
    except OSError as refused:
        accounts.withdraw(invitation, by)
        said = f"The mail server did not take the letter, so the invitation is void: {refused}"
        raise RefusedError(HTTPStatus.BAD_GATEWAY, "mail.refused", said) from refused


@operation(
    router, "DELETE", f"{PLACE}/invitations/{{invitation}}", scope=MEMBERS,
    tenancy="organisation", response={204: None},
)  # fmt: skip
def withdraw_invitation(request: HttpRequest, uid: str, invitation: str) -> Any:
    """Its link stops working at once."""
    organisation = organisation_of(request, uid, MEMBERS)
    rows = Invitation.objects.select_related("organisation")
    found = rows.filter(organisation=organisation, uid=plain(invitation)).first()
    if found is None:
        raise not_found()
    accounts.withdraw(found, scope_of(request).principal)
    return Status(204, None)
