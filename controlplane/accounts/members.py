"""Who belongs where: roles, invitations, and the last manager (04 §1.1).

A changed role holds from the person's next request on, because scopes are built per request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from controlplane.accounts import secrets
from controlplane.accounts.models import Invitation, Membership, Organisation, Tenant, User
from controlplane.accounts.problems import LastManagerError, LinkError
from controlplane.accounts.scopes import person_behind, scope_of_user
from controlplane.audit.actions import Actor, Subject, record

INVITATION_LIFETIME = timedelta(days=7)


@transaction.atomic
def set_member(
    user: User,
    organisation: Organisation | None,
    role: str,
    by: Actor | None,
    *,
    tenants: Sequence[Tenant] = (),
) -> Membership:
    """Give the person this role there; None is the deployment, whose only role is manager.

    tenants: the only ones it covers, () for all of the organisation. ValidationError for a role
    that does not fit the place, or a tenant of elsewhere.
    """
    _check_place(role, organisation, tenants)
    earlier = Membership.objects.filter(user=user, organisation=organisation).first()
    membership = earlier or Membership(user=user, organisation=organisation)
    before = _state(membership) if earlier else None
    membership.role = role
    membership.full_clean()
    membership.save()
    membership.tenants.set(tenants)
    record("member.set", _subject(membership), by, before=before, after=_state(membership))
    withdraw_unbacked(user, by)
    return membership


def _check_place(role: str, organisation: Organisation | None, tenants: Iterable[Tenant]) -> None:
    if (role == Membership.Role.MANAGER) != (organisation is None):
        raise ValidationError("A manager belongs to no organisation, everyone else to one.")
    for tenant in tenants:
        if organisation is None or tenant.organisation_id != organisation.pk:
            raise ValidationError("A membership can name tenants of its organisation only.")


@transaction.atomic
def remove_member(membership: Membership, by: Actor | None) -> None:
    """LastManagerError rather than a deployment that nobody can manage."""
    if membership.role == Membership.Role.MANAGER and not has_other_managers(membership.user):
        raise LastManagerError
    record("member.remove", _subject(membership), by, before=_state(membership))
    membership.delete()
    withdraw_unbacked(membership.user, by)


def has_other_managers(user: User) -> bool:
    """Whether the deployment is managed without this person; a disabled one does not count."""
    managing = Membership.objects.filter(role=Membership.Role.MANAGER, user__is_active=True)
    rows = set(managing.select_for_update().values_list("user_id", flat=True))
    return rows != {user.pk}


@transaction.atomic
def invite(
    email: str,
    organisation: Organisation | None,
    role: str,
    by: Actor | None,
    *,
    tenants: Sequence[Tenant] = (),
) -> tuple[Invitation, str]:
    """An invitation for 7 days and the text of its link, which is never shown again.

    A new one replaces an open one for the same address and place. ValidationError for somebody
    who is a member there already: their role is changed, not offered.
    """
    _check_place(role, organisation, tenants)
    email = email.strip().lower()
    if Membership.objects.filter(user__email=email, organisation=organisation).exists():
        raise ValidationError(f"{email} is a member already.")
    for earlier in _open_invitations().filter(email=email, organisation=organisation):
        withdraw(earlier, by)
    link = secrets.new_link()
    invitation = Invitation(
        email=email,
        organisation=organisation,
        role=role,
        token_hash=link.digest,
        created_by=person_behind(by),
        expires_at=timezone.now() + INVITATION_LIFETIME,
    )
    invitation.full_clean()
    invitation.save()
    invitation.tenants.set(tenants)
    record("member.invite", _subject(invitation), by, after=_state(invitation))
    return invitation, link.plaintext


@transaction.atomic
def withdraw(invitation: Invitation, by: Actor | None) -> None:
    """Its link ends; doing so twice, or after it was accepted, changes nothing."""
    if invitation.withdrawn_at is not None or invitation.accepted_at is not None:
        return
    invitation.withdrawn_at = timezone.now()
    invitation.save(update_fields=["withdrawn_at"])
    record("member.withdraw_invitation", _subject(invitation), by, before=_state(invitation))


def withdraw_unbacked(user: User, by: Actor | None) -> None:
    """Those open invitations of the person that they could not make any more.

    Else whoever is shown out would keep a way back in.
    """
    scope = scope_of_user(user)
    for invitation in _open_invitations().filter(created_by=user).select_related("organisation"):
        if not scope.may_in("member:write", invitation.organisation):
            withdraw(invitation, by)


def invitation_of(link: str) -> Invitation:
    """What the link invites to; LinkError when it is not good any more."""
    found = _open_invitations().filter(token_hash=secrets.digest_of(link))
    invitation = found.select_related("organisation").first()
    if invitation is None:
        raise LinkError
    return invitation


@transaction.atomic
def accept_as_newcomer(link: str, *, password: str, display_name: str = "") -> User:
    """Someone without an account gets one; ValidationError when the address has one already."""
    invitation = invitation_of(link)
    user = User(email=invitation.email, display_name=display_name.strip())
    validate_password(password, user)
    user.set_password(password)
    user.full_clean()
    user.save()
    inviter = invitation.created_by.email if invitation.created_by else ""
    after = {"email": user.email, "invited_by": inviter}
    record("user.create", Subject(user.uid, user.email), user, after=after)
    _accept(invitation, user)
    return user


@transaction.atomic
def accept_as(link: str, user: User) -> Membership:
    """Someone who has signed in joins; LinkError when another address was invited."""
    invitation = invitation_of(link)
    if invitation.email != user.email:
        raise LinkError
    return _accept(invitation, user)


def _accept(invitation: Invitation, user: User) -> Membership:
    invitation.accepted_at = timezone.now()
    claimed = _open_invitations().filter(pk=invitation.pk)
    if not claimed.update(accepted_at=invitation.accepted_at):
        raise LinkError  # somebody else was faster
    record("member.accept_invitation", _subject(invitation), user, after=_state(invitation))
    tenants = list(invitation.tenants.all())
    return set_member(user, invitation.organisation, invitation.role, user, tenants=tenants)


def _open_invitations() -> QuerySet[Invitation]:
    return Invitation.objects.filter(
        accepted_at=None, withdrawn_at=None, expires_at__gt=timezone.now()
    )


def _state(held: Membership | Invitation) -> dict[str, Any]:
    tenants = sorted(held.tenants.values_list("uid", flat=True)) if held.pk else []
    return {"role": held.role, "tenants": tenants}


def _subject(held: Membership | Invitation) -> Subject:
    organisation = held.organisation.uid if held.organisation else ""
    if isinstance(held, Invitation):
        return Subject(held.uid, held.email, organisation)
    return Subject(held.user.uid, held.user.email, organisation)
