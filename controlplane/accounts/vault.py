"""Secrets that we hold: put, replace, remove, seal again; reading them is for the product alone.

Source: 04-controlplane-and-dashboard.md 1.1, 8.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError, QuerySet

from controlplane.accounts.models import Organisation, SecondFactor, Secret, Tenant
from controlplane.accounts.scopes import Scope, person_behind
from controlplane.accounts.sealing import Keyring, Sealed, SealError
from controlplane.audit.actions import Actor, Subject, record
from controlplane.fleet.hints import hint

Owner = Organisation | Tenant | None
LONGEST_VALUE = 8192
WRITE = "secret:write"


class UnreadableSecretsError(RuntimeError):
    """Secrets exist that no key of HEADRACE_SECRET_KEYS opens."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"no key of HEADRACE_SECRET_KEYS opens: {', '.join(names)}")


@dataclass(frozen=True, slots=True)
class SecretRow:
    """All that is ever shown of a secret."""

    uid: str
    name: str
    kind: str
    fingerprint: str
    version: int
    updated_at: datetime
    updated_by: str
    used_by: Sequence[str]


def may_write(scope: Scope, secret: Secret) -> bool:
    if secret.tenant is not None:
        return scope.may(WRITE, secret.tenant)
    return scope.may_in(WRITE, secret.organisation)


@transaction.atomic
def put_secret(owner: Owner, name: str, value: str, *, kind: str, by: Actor | None) -> Secret:
    """Keep the value under the name, in place of an earlier one; owner None is the deployment.

    ValidationError for a malformed name, an unknown kind, an empty or over-long value.
    """
    if not value.strip() or len(value) > LONGEST_VALUE:
        raise ValidationError(f"A secret has 1 to {LONGEST_VALUE} characters.")
    secret = _owned(owner).select_for_update().filter(name=name).first()
    before = _state(secret) if secret else None
    secret = secret or Secret(name=name, **_place(owner))
    secret.kind, secret.version = kind, secret.version + 1
    secret.updated_by = person_behind(by)
    _fill(secret, value, keyring())
    secret.full_clean(exclude=["ciphertext"])
    secret.save()
    record("secret.put", _subject(secret), by, before=before, after=_state(secret))
    transaction.on_commit(hint)
    return secret


@transaction.atomic
def remove_secret(secret: Secret, by: Actor | None) -> None:
    """ValidationError while an upstream still uses it."""
    record("secret.remove", _subject(secret), by, before=_state(secret))
    try:
        secret.delete()
    except ProtectedError as problem:
        raise ValidationError("An upstream uses this secret.") from problem
    transaction.on_commit(hint)


@transaction.atomic
def rekey(by: Actor | None) -> int:
    """Seal every secret with the first key; how many were sealed with another one before.

    UnreadableSecretsError, and nothing changed, when one of them does not open.
    """
    ring = keyring()
    refuse_unreadable()
    due = list(Secret.objects.select_for_update().exclude(key_id=ring.newest))
    for secret in due:
        before = {"key_id": secret.key_id}
        _fill(secret, reveal(secret), ring)
        secret.save(update_fields=["key_id", "ciphertext", "fingerprint"])
        after = {"key_id": secret.key_id}
        record("secret.rekey", _subject(secret), by, before=before, after=after)
    return len(due) + _rekey_factors(ring)


def _rekey_factors(ring: Keyring) -> int:
    """The secrets of authenticators; no trail, because nothing changes for their people."""
    due = list(_factors().select_for_update(of=("self",)).exclude(key_id=ring.newest))
    for factor in due:
        value = ring.open(Sealed(factor.key_id, bytes(factor.ciphertext)), place=factor.place)
        sealed = ring.seal(value, place=factor.place)
        factor.key_id, factor.ciphertext = sealed.key_id, sealed.ciphertext
        factor.save(update_fields=["key_id", "ciphertext"])
    return len(due)


def _factors() -> QuerySet[SecondFactor]:
    return SecondFactor.objects.select_related("user").order_by("id")


def refuse_unreadable() -> None:
    """UnreadableSecretsError when secrets exist that no key opens; a start asks this first."""
    ring = keyring()
    names = [secret.name for secret in Secret.objects.order_by("name") if not _opens(secret)]
    for factor in _factors():
        try:
            ring.open(Sealed(factor.key_id, bytes(factor.ciphertext)), place=factor.place)
        except SealError:
            names.append(str(factor))
    if names:
        raise UnreadableSecretsError(names)


def reveal(secret: Secret) -> str:
    """The value itself, for the use it was given for; never for a page, a log or the trail."""
    sealed = Sealed(secret.key_id, bytes(secret.ciphertext))
    return keyring().open(sealed, place=_place_name(secret))


def secrets_of(owner: Owner) -> Sequence[SecretRow]:
    """What the owner holds, by name, without the values."""
    found = _owned(owner).select_related("updated_by").prefetch_related("upstreams")
    return [row_of(secret) for secret in found]


def keyring() -> Keyring:
    return Keyring(settings.SECRET_SEALING_KEYS)


def _opens(secret: Secret) -> bool:
    try:
        reveal(secret)
    except SealError:
        return False
    return True


def _fill(secret: Secret, value: str, ring: Keyring) -> None:
    sealed = ring.seal(value, place=_place_name(secret))
    secret.key_id, secret.ciphertext = sealed.key_id, sealed.ciphertext
    secret.fingerprint = ring.fingerprint(value)


def _place_name(secret: Secret) -> str:
    return f"{secret.uid} {secret.scope}"


def _owned(owner: Owner) -> QuerySet[Secret]:
    return Secret.objects.filter(**_place(owner))


def _place(owner: Owner) -> dict[str, Organisation | Tenant | None]:
    return {
        "organisation": owner if isinstance(owner, Organisation) else None,
        "tenant": owner if isinstance(owner, Tenant) else None,
    }


def row_of(secret: Secret) -> SecretRow:
    return SecretRow(
        uid=secret.uid,
        name=secret.name,
        kind=secret.kind,
        fingerprint=secret.fingerprint,
        version=secret.version,
        updated_at=secret.updated_at,
        updated_by=secret.updated_by.email if secret.updated_by else "",
        used_by=[upstream.name for upstream in secret.upstreams.all()],
    )


def _state(secret: Secret) -> dict[str, str | int]:
    return {
        "kind": secret.kind, "version": secret.version, "fingerprint": secret.fingerprint,
    }  # fmt: skip


def _subject(secret: Secret) -> Subject:
    organisation = secret.tenant.organisation if secret.tenant else secret.organisation
    return Subject(secret.uid, secret.name, organisation.uid if organisation else "")
