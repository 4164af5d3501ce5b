"""Where people are told: add, change, rotate, test and remove a channel (04 §5.16)."""

from __future__ import annotations

import secrets as randomness
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import Organisation, Secret, User
from controlplane.accounts.vault import put_secret
from controlplane.alarms.models import Channel, Delivery, Severity
from controlplane.alarms.outbound import checked_url
from controlplane.audit.actions import Subject, record

BOTH_VALID = timedelta(hours=24)
SECRET_BYTES = 32
MAILS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a person says of a channel. target: a URL, or addresses parted by commas."""

    name: str
    kind: str
    target: str
    least: str = Severity.WARNING
    allow_private: bool = False


@transaction.atomic
def add(organisation: Organisation | None, terms: Terms, *, by: User) -> tuple[Channel, str]:
    """The channel, and the secret of a webhook, which is shown this once; "" for e-mail.

    ValidationError for an address that breaks a rule, or a name that is taken.
    """
    channel = Channel(organisation=organisation, name=terms.name, kind=terms.kind)
    _take(channel, terms)
    value = ""
    if channel.kind == Channel.Kind.WEBHOOK:
        channel.secret, value = _new_secret(channel, by)
    channel.full_clean(exclude=["secret"])
    _refuse_taken(channel)
    channel.save()
    record("channel.add", _subject(channel), by, after=_state(channel))
    return channel, value


@transaction.atomic
def change(channel: Channel, terms: Terms, *, by: User) -> Channel:
    """All of its terms but its kind; a channel that was switched off starts anew."""
    before = _state(channel)
    channel.name = terms.name
    _take(channel, terms)
    channel.failures, channel.disabled_at = 0, None
    channel.full_clean()
    _refuse_taken(channel)
    channel.save()
    record("channel.change", _subject(channel), by, before=before, after=_state(channel))
    return channel


@transaction.atomic
def rotate(channel: Channel, *, by: User) -> str:
    """A new secret; for a day both sign, so that the receiver can change over."""
    former = channel.secret
    channel.secret, value = _new_secret(channel, by)
    channel.former, channel.former_until = former, timezone.now() + BOTH_VALID
    channel.save(update_fields=["secret", "former", "former_until"])
    record("channel.rotate", _subject(channel), by, after=_state(channel))
    return value


@transaction.atomic
def remove(channel: Channel, *, by: User) -> None:
    """Its deliveries go with it; its secrets too, because nothing else uses them."""
    record("channel.remove", _subject(channel), by, before=_state(channel))
    held = [secret for secret in (channel.secret, channel.former) if secret is not None]
    channel.delete()
    for secret in held:
        secret.delete()


@transaction.atomic
def send_test(channel: Channel, *, by: User) -> Delivery:
    """A delivery that says it is a test, due now."""
    now = timezone.now()
    base = settings.ENVIRONMENT.base_url
    record("channel.test", _subject(channel), by)
    return Delivery.objects.create(
        channel=channel,
        event="test",
        payload={"title": "This is a test", "by": by.email, "url": f"{base}/settings/channels"},
        next_at=now,
        created_at=now,
    )


def _take(channel: Channel, terms: Terms) -> None:
    channel.least, channel.allow_private = terms.least, terms.allow_private
    if channel.kind == Channel.Kind.WEBHOOK:
        try:
            channel.target = checked_url(terms.target, allow_private=terms.allow_private)
        except ValidationError as refused:
            raise ValidationError({"target": refused.messages}) from refused
    else:
        channel.target = _addresses(terms.target)


def _addresses(text: str) -> str:
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not 1 <= len(found) <= MAILS_MAX:
        raise ValidationError({"target": f"One to {MAILS_MAX} addresses, parted by commas."})
    for address in found:
        try:
            validate_email(address)
        except ValidationError as refused:
            raise ValidationError({"target": f"{address}: not an e-mail address."}) from refused
    return ", ".join(found)


def _new_secret(channel: Channel, by: User) -> tuple[Secret, str]:
    value = randomness.token_urlsafe(SECRET_BYTES)
    name = f"webhook-{randomness.token_hex(6)}"
    kept = put_secret(channel.organisation, name, value, kind=Secret.Kind.WEBHOOK_HMAC, by=by)
    return kept, value


def _refuse_taken(channel: Channel) -> None:
    """The database cannot: two rows without an organisation are never equal to it."""
    same = Channel.objects.filter(organisation=channel.organisation, name=channel.name)
    if same.exclude(pk=channel.pk).exists():
        raise ValidationError({"name": "There is a channel of this name."})


def _state(channel: Channel) -> dict[str, str | bool]:
    """Without the path of a webhook, which is a secret with some receivers."""
    target = channel.target
    if channel.kind == Channel.Kind.WEBHOOK:
        target = "/".join(target.split("/")[:3])
    return {
        "name": channel.name, "kind": channel.kind, "target": target, "least": channel.least,
        "allow_private": channel.allow_private, "secret": channel.secret.uid
        if channel.secret else "",
    }  # fmt: skip


def _subject(channel: Channel) -> Subject:
    organisation = channel.organisation.uid if channel.organisation else ""
    return Subject(channel.uid, channel.name, organisation)


def is_both_valid(channel: Channel, now: datetime) -> bool:
    """The secret before the rotation still signs."""
    return channel.former_until is not None and now < channel.former_until
