"""Whether text of a tenant's conversations is kept: three gates, all closed at first (04 §8.7).

The deployment's is HEADRACE_CAPTURE_CONTENT, an organisation's its administrators open, a tenant's
is a consent with a name and a time. Nodes get only what comes of the three.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.accounts import published
from controlplane.accounts.actions import subject_of
from controlplane.accounts.models import Organisation, Tenant
from controlplane.audit.actions import Actor, Subject, record


class Gate(enum.StrEnum):
    DEPLOYMENT = "deployment"
    ORGANISATION = "organisation"
    TENANT = "tenant"


def closed_gates(tenant: Tenant) -> tuple[Gate, ...]:
    """Those that keep its texts from being kept, the highest first."""
    is_open = {
        Gate.DEPLOYMENT: settings.CAPTURE_CONTENT,
        Gate.ORGANISATION: tenant.organisation.content_capture_allowed,
        Gate.TENANT: tenant.capture_content,
    }
    return tuple(gate for gate, opened in is_open.items() if not opened)


def blocked_by(tenant: Tenant) -> Gate | None:
    """The highest closed gate; None where texts are kept."""
    return next(iter(closed_gates(tenant)), None)


def captured_among(uids: Iterable[str]) -> frozenset[str]:
    """Those of the tenants whose texts may be kept now."""
    tenants = Tenant.objects.filter(uid__in=set(uids)).select_related("organisation")
    return frozenset(tenant.uid for tenant in tenants if blocked_by(tenant) is None)


@transaction.atomic
def allow(organisation: Organisation, *, allowed: bool, by: Actor | None) -> Organisation:
    """Open or close the gate of an organisation; its nodes hear of it with the commit."""
    before = {"content_capture_allowed": organisation.content_capture_allowed}
    organisation.content_capture_allowed = allowed
    organisation.save(update_fields=["content_capture_allowed"])
    record(
        "organisation.allow_capture" if allowed else "organisation.forbid_capture",
        Subject(organisation.uid, organisation.slug, organisation.uid),
        by,
        before=before,
        after={"content_capture_allowed": allowed},
    )
    published.publish_tenants(organisation.tenants.all(), by)
    return organisation


@transaction.atomic
def consent(tenant: Tenant, *, agreed: bool, by: Actor | None) -> Tenant:
    """Agree that texts of the tenant are kept, or withdraw that."""
    before = _state(tenant)
    tenant.capture_content = agreed
    tenant.capture_consented_by = published.name_of(by) if agreed else ""
    tenant.capture_consented_at = timezone.now() if agreed else None
    tenant.save(update_fields=["capture_content", "capture_consented_by", "capture_consented_at"])
    action = "tenant.agree_to_capture" if agreed else "tenant.withdraw_capture"
    record(action, subject_of(tenant), by, before=before, after=_state(tenant))
    published.publish_tenant(tenant, by)
    return tenant


def publish_settled() -> None:
    """Tell nodes where the deployment's own gate moved with this start."""
    published.publish_tenants(Tenant.objects.filter(capture_content=True), None)


def _state(tenant: Tenant) -> dict[str, object]:
    return {
        "capture_content": tenant.capture_content,
        "capture_consented_by": tenant.capture_consented_by,
    }
