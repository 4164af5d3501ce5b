"""Changes to people: who they are, what they may do, and their sign-in (04 sections 1.1, 8.1)."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.utils import timezone

from controlplane.accounts import secrets
from controlplane.accounts.models import (
    ApiToken,
    Membership,
    Organisation,
    SignInAttempt,
    User,
)
from controlplane.accounts.permissions import PERMISSIONS
from controlplane.audit.actions import Actor, Subject, record

ATTEMPTS_PER_WINDOW = 5
WINDOW = timedelta(minutes=1)
TOKEN_DAYS = 90


class TooManyAttemptsError(Exception):
    """More than five failed tries within a minute for the account or the address."""


class LastManagerError(Exception):
    """The deployment would be left without an active manager (account.last_manager)."""


@transaction.atomic
def create_user(*, email: str, password: str, by: Actor | None) -> User:
    """ValidationError when the address is taken or the password is too weak."""
    user = User(email=email.strip().lower())
    validate_password(password, user)
    user.set_password(password)
    user.full_clean()
    user.save()
    record("user.create", _user(user), by, after={"email": user.email})
    return user


@transaction.atomic
def set_password(user: User, password: str, by: Actor | None) -> None:
    """Sessions opened with the earlier password end."""
    validate_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    record("user.set_password", _user(user), by)


@transaction.atomic
def set_member(
    user: User, organisation: Organisation | None, role: str, by: Actor | None
) -> Membership:
    """Give the person this role there; None is the deployment, whose only role is manager."""
    earlier = Membership.objects.filter(user=user, organisation=organisation).first()
    membership = earlier or Membership(user=user, organisation=organisation)
    before = {"role": membership.role} if earlier else None
    membership.role = role
    membership.full_clean()
    membership.save()
    subject = Subject(user.uid, user.email, organisation.uid if organisation else "")
    record("member.set", subject, by, before=before, after={"role": role})
    return membership


@transaction.atomic
def remove_member(membership: Membership, by: Actor | None) -> None:
    """LastManagerError rather than a deployment that nobody can manage."""
    if membership.role == Membership.Role.MANAGER and not _other_managers(membership):
        raise LastManagerError
    organisation = membership.organisation
    subject = Subject(
        membership.user.uid, membership.user.email, organisation.uid if organisation else ""
    )
    record("member.remove", subject, by, before={"role": membership.role})
    membership.delete()


def _other_managers(membership: Membership) -> bool:
    managers = Membership.objects.filter(role=Membership.Role.MANAGER, user__is_active=True)
    return managers.exclude(pk=membership.pk).exists()


@transaction.atomic
def issue_token(user: User, name: str, by: Actor | None) -> tuple[ApiToken, str]:
    """A token of the control plane's API and its text, which is never shown again."""
    credential = secrets.new_token()
    token = ApiToken.objects.create(
        prefix=credential.prefix,
        token_hash=credential.digest,
        name=name,
        created_by=user,
        scopes=sorted(PERMISSIONS[Membership.Role.MANAGER]),
        expires_at=timezone.now() + timedelta(days=TOKEN_DAYS),
    )
    record("token.issue", Subject(token.uid, name), by, after={"prefix": token.prefix})
    return token, credential.plaintext


@transaction.atomic
def revoke_token(token: ApiToken, by: Actor | None) -> None:
    token.revoked_at = timezone.now()
    token.save(update_fields=["revoked_at"])
    record("token.revoke", Subject(token.uid, token.name), by, before={"prefix": token.prefix})


def verify_sign_in(*, email: str, password: str, address: str) -> User | None:
    """The person, or None for a wrong pair; TooManyAttemptsError before the pair is looked at.

    An unknown address takes as long as a wrong password. Only failures count towards the limit,
    but each try is counted before it is decided, so that parallel ones do not slip through.
    """
    email = email.strip().lower()
    subjects = (f"account {email}"[:300], f"address {address}"[:300])
    attempts = _count_attempts(subjects)
    user = authenticate(username=email, password=password)
    if user is None:
        record("session.refuse", Subject("", email), None, after={"address": address})
        return None
    if not isinstance(user, User):
        raise TypeError(type(user))
    SignInAttempt.objects.filter(pk__in=attempts).delete()
    record("session.open", _user(user), user, after={"address": address})
    return user


@transaction.atomic
def _count_attempts(subjects: tuple[str, ...]) -> list[int]:
    since = timezone.now() - WINDOW
    SignInAttempt.objects.filter(at__lt=since).delete()
    for subject in subjects:
        if SignInAttempt.objects.filter(subject=subject).count() >= ATTEMPTS_PER_WINDOW:
            raise TooManyAttemptsError
    return [SignInAttempt.objects.create(subject=subject).pk for subject in subjects]


def _user(user: User) -> Subject:
    return Subject(user.uid, user.email)
