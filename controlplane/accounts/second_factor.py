"""An authenticator beside the password: enrol, ask, renew, take away (04 §8.1).

Whoever may change what others rely on (admins and managers) owes one where the deployment demands
it; everybody else may have one.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from controlplane.accounts import attempts, letting_in, totp
from controlplane.accounts.models import Membership, RecoveryCode, SecondFactor, User
from controlplane.accounts.sealing import Sealed
from controlplane.accounts.secrets import base32, digest_of
from controlplane.accounts.vault import keyring
from controlplane.audit.actions import Actor, Subject, record

ISSUER = "Headrace"
OWING = (Membership.Role.ADMIN, Membership.Role.MANAGER)
RECOVERY_CODES = 10
RECOVERY_BYTES = 10  # 16 base32 characters
WRONG = "This code is not right, or was used already. Codes change every 30 seconds."


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What goes into the authenticator. address: for a QR code."""

    secret: str
    address: str


def has_one(user: User) -> bool:
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).exists()


def is_owed(user: User) -> bool:
    """Whether the person must enrol before anything else."""
    if not settings.SECOND_FACTOR_DEMANDED or has_one(user):
        return False
    return user.memberships.filter(role__in=OWING).exists()


@transaction.atomic
def begin(user: User) -> Enrolment:
    """The secret to enter; the same one until its first code was right."""
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is not None and factor.confirmed_at is not None:
        raise ValidationError("The account has a second factor already.")
    if factor is None:
        factor = SecondFactor(user=user)
        sealed = keyring().seal(totp.new_secret(), place=factor.place)
        factor.key_id, factor.ciphertext = sealed.key_id, sealed.ciphertext
        factor.save()
    secret = _secret(factor)
    return Enrolment(secret, totp.address(secret, user.email, ISSUER))


@transaction.atomic
def confirm(user: User, code: str) -> Sequence[str]:
    """The authenticator is asked for from now on; its recovery codes, never shown again."""
    factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at=None).first()
    if factor is None or not _takes(factor, code, timezone.now()):
        raise ValidationError(WRONG)
    factor.confirmed_at = timezone.now()
    factor.save(update_fields=["confirmed_at"])
    record("user.enrol_second_factor", Subject(user.uid, user.email), user)
    return _fresh_codes(user)


def renew_codes(user: User, code: str) -> Sequence[str]:
    """New recovery codes in place of the earlier ones.

    ValidationError for a wrong code; TooManyAttemptsError as at the sign-in.
    """
    _prove(user, code)
    with transaction.atomic():
        record("user.renew_recovery_codes", Subject(user.uid, user.email), user)
        return _fresh_codes(user)


def give_up(user: User, code: str) -> None:
    """The person's own deed; refused in the same way."""
    _prove(user, code)
    remove(user, user)


def _prove(user: User, code: str) -> None:
    """That whoever sits at an open session has the authenticator, too."""
    tried = attempts.counted(subject_of(user))
    if not _is_right(user, code):
        raise ValidationError(WRONG)
    attempts.forgiven(tried)


def subject_of(user: User) -> str:
    """What guesses of the person's codes are counted for, wherever they are made."""
    return f"code {user.uid}"


@transaction.atomic
def remove(user: User, by: Actor | None) -> None:
    """The password alone opens the account again; removing nothing changes nothing.

    SameHandsError for who has seen a link for the person's password.
    """
    if by is not None and by.actor_uid != user.uid:
        letting_in.refuse_both(user, by, letting_in.With.FACTOR)
    removed, _ = SecondFactor.objects.filter(user=user).delete()
    RecoveryCode.objects.filter(user=user).delete()
    if removed:
        letting_in.by_factor(user, by)
        record("user.remove_second_factor", Subject(user.uid, user.email), by)


@transaction.atomic
def accepts(user: User, code: str) -> bool:
    """Whether the code opens the account: of the authenticator, or one for recovery, each once."""
    if _is_right(user, code):
        return True
    digest = digest_of(_plain(code).upper())
    unused = RecoveryCode.objects.filter(user=user, code_hash=digest, used_at=None)
    if not unused.update(used_at=timezone.now()):
        return False
    left = codes_left(user)
    subject = Subject(user.uid, user.email)
    record("user.use_recovery_code", subject, user, after={"codes_left": left})
    return True


def codes_left(user: User) -> int:
    return RecoveryCode.objects.filter(user=user, used_at=None).count()


@transaction.atomic
def _is_right(user: User, code: str) -> bool:
    held = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False)
    factor = held.first()
    return factor is not None and _takes(factor, code, timezone.now())


def _takes(factor: SecondFactor, code: str, now: datetime) -> bool:
    """Whether the code is right, which uses it up."""
    step = totp.matching_step(
        _secret(factor), _plain(code), now.timestamp(), after=factor.last_step
    )
    if step is None:
        return False
    factor.last_step = step
    factor.save(update_fields=["last_step"])
    return True


def _secret(factor: SecondFactor) -> str:
    return keyring().open(Sealed(factor.key_id, bytes(factor.ciphertext)), place=factor.place)


def _fresh_codes(user: User) -> Sequence[str]:
    RecoveryCode.objects.filter(user=user).delete()
    codes = [base32(secrets.token_bytes(RECOVERY_BYTES)) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(user=user, code_hash=digest_of(code)) for code in codes
    )
    return ["-".join(re.findall(".{4}", code.lower())) for code in codes]


def _plain(code: str) -> str:
    """As people type it: with spaces or hyphens in between."""
    return re.sub(r"[\s-]", "", code)
