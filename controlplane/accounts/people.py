"""Changes to people: who they are, what they may do, and their sign-in (04 §1.1, 8.1)."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from controlplane.accounts import attempts, letting_in, second_factor, secrets, websessions
from controlplane.accounts.members import has_other_managers, withdraw_unbacked
from controlplane.accounts.models import PasswordReset, User
from controlplane.accounts.problems import LastManagerError, LinkError
from controlplane.audit.actions import Actor, Subject, record
from dataplane.core.door.addresses import site_of

RESET_LIFETIME = timedelta(hours=1)
LONGEST_EMAIL = 254
NO_ADDRESS = "what is no address"  # it may be a password in the wrong field


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
def rename(user: User, display_name: str, by: Actor | None) -> None:
    """An empty name for a person who goes by the address."""
    before = {"display_name": user.display_name}
    user.display_name = display_name.strip()
    user.save(update_fields=["display_name"])
    after = {"display_name": user.display_name}
    record("user.rename", _user(user), by, before=before, after=after)


def choose_theme(user: User, theme: str) -> None:
    """Light, dark or as the system; a matter of taste and of no trail."""
    user.theme = theme
    user.save(update_fields=["theme"])


@transaction.atomic
def set_password(user: User, password: str, by: Actor | None) -> None:
    """Sessions opened with the earlier password end."""
    validate_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    websessions.revoke_all(user, by)
    record("user.set_password", _user(user), by)


def change_password(user: User, *, current: str, new: str) -> None:
    """A person's own deed; every machine is signed out.

    The machine in use stays in with django.contrib.auth.update_session_auth_hash afterwards.
    ValidationError when the current password is wrong or the new one too weak;
    TooManyAttemptsError as at the sign-in.
    """
    tried = attempts.counted(f"password {user.uid}")
    if not user.check_password(current):
        raise ValidationError("The current password is another one.")
    attempts.forgiven(tried)
    with transaction.atomic():
        set_password(user, new, user)
        letting_in.retake(user)


@transaction.atomic
def set_active(user: User, *, active: bool, by: Actor | None) -> User:
    """Let a person in or keep them out; LastManagerError rather than nobody who manages."""
    if not active and not has_other_managers(user):
        raise LastManagerError
    before = {"is_active": user.is_active}
    user.is_active = active
    user.save(update_fields=["is_active"])
    if not active:
        websessions.revoke_all(user, by)
        withdraw_unbacked(user, by)
    action = "user.enable" if active else "user.disable"
    record(action, _user(user), by, before=before, after={"is_active": active})
    return user


@transaction.atomic
def start_reset(user: User, by: Actor | None, *, by_mail: bool = False) -> str:
    """The text of a link that sets the person's password once, within an hour.

    An earlier link of the person ends. by_mail: nobody but the person's mailbox gets to see it.
    SameHandsError for who has taken away the person's second factor.
    """
    if by is not None:
        letting_in.refuse_both(user, by, letting_in.With.LINK)
    end_reset(user)
    link = secrets.new_link()
    PasswordReset.objects.create(
        user=user,
        token_hash=link.digest,
        expires_at=timezone.now() + RESET_LIFETIME,
        **letting_in.shown_to(None if by_mail else by),
    )
    record("user.start_reset", _user(user), by, after={"by_mail": by_mail})
    return link.plaintext


def end_reset(user: User) -> None:
    """The person's link is not good any more."""
    user.resets.all().delete()


@transaction.atomic
def reset_password(link: str, password: str) -> User:
    """LinkError for a link that is not good any more, ValidationError for a weak password.

    A weak password leaves the link good.
    """
    resets = PasswordReset.objects.select_for_update().select_related("user")
    found = resets.filter(
        token_hash=secrets.digest_of(link), expires_at__gt=timezone.now(), user__is_active=True
    ).first()
    if found is None:
        raise LinkError
    letting_in.by_link(found)
    set_password(found.user, password, found.user)
    found.delete()
    return found.user


def verify_sign_in(*, email: str, password: str, address: str) -> User | None:
    """The person, or None for a wrong pair; TooManyAttemptsError before the pair is looked at.

    An unknown address takes as long as a wrong password. Somebody with a second factor is in only
    after verify_code.
    """
    email = _as_kept(email)
    tried = attempts.counted(f"account {email}", f"address {site_of(address)}")
    user = authenticate(username=email, password=password)
    if user is None:
        label = email if "@" in email else NO_ADDRESS
        record("session.refuse", Subject("", label), None, after={"address": address})
        return None
    if not isinstance(user, User):
        raise TypeError(type(user))
    attempts.forgiven(tried)
    if not second_factor.has_one(user):
        letting_in.signed_in(user, with_code=False)
        record("session.open", _user(user), user, after={"address": address})
    return user


def _as_kept(email: str) -> str:
    """As accounts have it: in lower case, and no longer and with no character that none has."""
    return "".join(each for each in email.strip().lower() if each.isprintable())[:LONGEST_EMAIL]


def verify_code(user: User, code: str, address: str) -> bool:
    """The second step of a sign-in; TooManyAttemptsError as in the first."""
    tried = attempts.counted(second_factor.subject_of(user), f"address {site_of(address)}")
    after = {"address": address, "second_factor": True}
    if not second_factor.accepts(user, code):
        record("session.refuse", _user(user), None, after=after)
        return False
    attempts.forgiven(tried)
    letting_in.signed_in(user, with_code=True)
    record("session.open", _user(user), user, after=after)
    return True


def _user(user: User) -> Subject:
    return Subject(user.uid, user.email)
