"""Changes to organisations, tenants and their keys.

Each is one transaction with its audit entry and what it publishes to the nodes.
Source: 04-controlplane-and-dashboard.md 1.1, 1.2, 8.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from controlplane.accounts import published, secrets
from controlplane.accounts.models import (
    DataPlaneKey,
    Organisation,
    Tenant,
    TenantUpstream,
    Upstream,
)
from controlplane.accounts.policies import checked_policy
from controlplane.accounts.tokens import OVERLAP, checked_overlap
from controlplane.audit.actions import Actor, Subject, record
from controlplane.databases import hold

LIMITS = ("label", "rpm_limit", "concurrent_limit")  # of a tenant, with what people call it


@transaction.atomic
def create_organisation(*, name: str, slug: str, by: Actor | None) -> Organisation:
    """ValidationError when the slug is taken or malformed."""
    organisation = Organisation(name=name, slug=slug)
    organisation.full_clean()
    organisation.save()
    record("organisation.create", _organisation(organisation), by, after={"slug": slug})
    return organisation


@transaction.atomic
def create_tenant(
    organisation: Organisation, *, slug: str, by: Actor | None, label: str = ""
) -> Tenant:
    """A tenant that follows the server default; ValidationError as for organisations.

    Its document, its first revision and its publication are the configs feature's doing.
    """
    tenant = Tenant(organisation=organisation, slug=slug, label=label or slug)
    tenant.full_clean()
    tenant.save()
    record("tenant.create", subject_of(tenant), by, after={"slug": slug, "label": tenant.label})
    return tenant


@transaction.atomic
def change_organisation(
    organisation: Organisation, *, name: str | None, policy: Mapping[str, Any], by: Actor | None
) -> Organisation:
    """Another name, other rules for its tenants; ValidationError for a rule that is none.

    name: None leaves it. policy: the rules that change; the others stay.
    """
    hold(organisation, "name", "policy")
    before = {"name": organisation.name, "policy": organisation.policy}
    organisation.name = organisation.name if name is None else name.strip()
    organisation.policy = checked_policy({**organisation.policy, **policy})
    organisation.full_clean()
    organisation.save(update_fields=["name", "policy"])
    after = {"name": organisation.name, "policy": organisation.policy}
    subject = _organisation(organisation)
    record("organisation.change", subject, by, before=before, after=after)
    published.publish_tenants(organisation.tenants.all(), by)
    return organisation


@transaction.atomic
def change_tenant(
    tenant: Tenant,
    *,
    label: str | None = None,
    rpm_limit: int | None = None,
    concurrent_limit: int | None = None,
    by: Actor | None,
) -> Tenant:
    """What people call it and how much it may send, 0 for no limit; None leaves what there is."""
    hold(tenant, *LIMITS)
    before = _limits(tenant)
    wanted = {"label": label, "rpm_limit": rpm_limit, "concurrent_limit": concurrent_limit}
    for name, value in wanted.items():
        if value is not None:
            setattr(tenant, name, value)
    tenant.label = tenant.label.strip()
    tenant.full_clean()
    tenant.save(update_fields=LIMITS)
    record("tenant.change", subject_of(tenant), by, before=before, after=_limits(tenant))
    published.publish_tenant(tenant, by)
    return tenant


def _limits(tenant: Tenant) -> dict[str, Any]:
    return {name: getattr(tenant, name) for name in LIMITS}


@transaction.atomic
def set_disabled(tenant: Tenant, *, reason: str, by: Actor | None) -> Tenant:
    """Turn the tenant's traffic away with the reason, or let it pass again when that is empty."""
    before = {"disabled_reason": tenant.disabled_reason}
    tenant.disabled_at = timezone.now() if reason else None
    tenant.disabled_reason = reason
    tenant.save(update_fields=["disabled_at", "disabled_reason"])
    action = "tenant.disable" if reason else "tenant.enable"
    record(action, subject_of(tenant), by, before=before, after={"disabled_reason": reason})
    published.publish_tenant(tenant, by)
    return tenant


@transaction.atomic
def issue_key(
    tenant: Tenant,
    label: str,
    by: Actor | None,
    *,
    replaces: DataPlaneKey | None = None,
    kind: str = DataPlaneKey.Kind.LIVE,
    expires_at: datetime | None = None,
) -> tuple[DataPlaneKey, str]:
    """A new key and its text, which is never shown again.

    replaces: an earlier key of the tenant whose principal the new one takes over; the earlier
    one keeps working until it is revoked.
    """
    if replaces is not None and replaces.tenant_id != tenant.pk:
        raise ValidationError("A key can only replace a key of the same tenant.")
    if expires_at is not None and expires_at <= timezone.now():
        raise ValidationError("A key expires in the future, or never.")
    credential = secrets.new_key()
    key = DataPlaneKey(
        tenant=tenant,
        kind=kind,
        prefix=credential.prefix,
        key_hash=credential.digest,
        label=label.strip(),
        expires_at=expires_at,
    )
    if replaces is not None:
        key.principal = replaces.principal
    key.full_clean()
    key.save()
    record("key.issue", _key(key), by, after=_key_state(key))
    published.publish_key(key, by)
    return key, credential.plaintext


@transaction.atomic
def rotate_key(
    key: DataPlaneKey, by: Actor | None, *, overlap: timedelta = OVERLAP
) -> tuple[DataPlaneKey, str]:
    """A key that takes over from this one, which works on for the overlap of 0 to 7 days."""
    hold(key, "revoked_at", "expires_at")
    now = timezone.now()
    if not key.is_live(now):
        raise ValidationError("A key that is revoked or expired cannot be rotated.")
    ends = now + checked_overlap(overlap)
    before = _key_state(key)
    fresh, plaintext = issue_key(
        key.tenant, key.label, by, replaces=key, kind=key.kind, expires_at=_as_long(key, now)
    )
    key.expires_at = min(key.expires_at or ends, ends)
    key.save(update_fields=["expires_at"])
    record("key.rotate", _key(key), by, before=before, after=_key_state(key))
    published.publish_key(key, by)
    return fresh, plaintext


def _as_long(key: DataPlaneKey, now: datetime) -> datetime | None:
    """An expiry as far away as the old key's was when it was issued."""
    return now + (key.expires_at - key.created_at) if key.expires_at else None


@transaction.atomic
def revoke_key(key: DataPlaneKey, by: Actor | None) -> DataPlaneKey:
    """Stop accepting the key; doing so twice changes nothing."""
    hold(key, "revoked_at")
    if key.revoked_at is not None:
        return key
    key.revoked_at = timezone.now()
    key.save(update_fields=["revoked_at"])
    record("key.revoke", _key(key), by, before=_key_state(key))
    published.publish_key(key, by)
    return key


@transaction.atomic
def retire_expired(now: datetime) -> int:
    """Take keys that expired off the nodes; how many there were. Run it every second or so."""
    expired = DataPlaneKey.objects.filter(expires_at__lte=now, retired_at=None, revoked_at=None)
    keys = list(expired.select_related("tenant__organisation"))
    for key in keys:
        key.retired_at = now
        key.save(update_fields=["retired_at"])
        record("key.expire", _key(key), None, before=_key_state(key))
        published.publish_key(key, None)
    return len(keys)


def next_expiry() -> datetime | None:
    """When the next key expires."""
    live = DataPlaneKey.objects.filter(retired_at=None, revoked_at=None)
    soonest: datetime | None = live.aggregate(at=Min("expires_at"))["at"]
    return soonest


@transaction.atomic
def choose_upstream(
    tenant: Tenant, dialect: str, upstream_name: str, by: Actor | None
) -> TenantUpstream:
    """The tenant's requests of this dialect go to the upstream of that name from now on.

    ValidationError when no upstream of the dialect has the name.
    """
    upstream = Upstream.objects.filter(name=upstream_name, dialect=dialect, enabled=True).first()
    if upstream is None:
        raise ValidationError(f"There is no {dialect} upstream named {upstream_name!r}.")
    earlier = tenant.upstreams.filter(dialect=dialect).select_related("upstream").first()
    chosen, _ = TenantUpstream.objects.update_or_create(
        tenant=tenant, dialect=dialect, defaults={"upstream": upstream}
    )
    record(
        "tenant.choose_upstream",
        subject_of(tenant),
        by,
        before={dialect: earlier.upstream.name if earlier else None},
        after={dialect: upstream.name},
    )
    published.publish_tenant(tenant, by)
    return chosen


def subject_of(tenant: Tenant) -> Subject:
    return Subject(tenant.uid, tenant.slug, tenant.organisation.uid)


def _organisation(organisation: Organisation) -> Subject:
    return Subject(organisation.uid, organisation.slug, organisation.uid)


def _key(key: DataPlaneKey) -> Subject:
    return Subject(key.uid, key.label, key.tenant.organisation.uid)


def _key_state(key: DataPlaneKey) -> dict[str, Any]:
    expires_at = key.expires_at.isoformat() if key.expires_at else None
    return {"label": key.label, "prefix": key.prefix, "kind": key.kind, "expires_at": expires_at}
