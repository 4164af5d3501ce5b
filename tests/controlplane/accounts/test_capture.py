"""Text is kept only where three gates are open, and each of them alone stops it (04 §8.7)."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from controlplane.accounts.capture import (
    Gate,
    allow,
    blocked_by,
    captured_among,
    consent,
    publish_settled,
)
from controlplane.accounts.models import Tenant, User
from controlplane.audit.models import AuditEvent
from controlplane.fleet.models import PublishedResource
from controlplane.settings.environment import read
from dataplane.core.resource import TENANT, TenantBody

pytestmark = pytest.mark.django_db


def opened(tenant: Tenant, settings: Any, *gates: Gate) -> Tenant:
    settings.CAPTURE_CONTENT = Gate.DEPLOYMENT in gates
    allow(tenant.organisation, allowed=Gate.ORGANISATION in gates, by=None)
    return consent(tenant, agreed=Gate.TENANT in gates, by=None)


def published(tenant: Tenant) -> bool:
    """What nodes are told."""
    body = PublishedResource.objects.get(type=TENANT, name=tenant.uid).body
    return msgspec.json.decode(bytes(body), type=TenantBody).policy.content_capture


@pytest.mark.parametrize(
    "gates",
    [some for n in range(4) for some in itertools.combinations(Gate, n)],
    ids=lambda some: "-".join(gate.value for gate in some) or "none",
)
def test_texts_are_kept_with_all_three_gates_open_and_the_highest_closed_one_is_named(
    tenant: Tenant, settings: Any, gates: tuple[Gate, ...]
) -> None:
    opened(tenant, settings, *gates)

    closed = [gate for gate in Gate if gate not in gates]
    assert blocked_by(tenant) == (closed[0] if closed else None)
    assert published(tenant) is (not closed)
    assert captured_among([tenant.uid]) == (frozenset() if closed else {tenant.uid})


def test_every_gate_is_closed_at_first(tenant: Tenant, tmp_path: Any) -> None:
    assert blocked_by(tenant) is Gate.DEPLOYMENT
    assert not published(tenant)
    assert not tenant.organisation.content_capture_allowed
    assert not tenant.capture_content
    assert not read({"HEADRACE_DATA_DIR": str(tmp_path)}).capture_content
    said = {"HEADRACE_DATA_DIR": str(tmp_path), "HEADRACE_CAPTURE_CONTENT": "1"}
    assert read(said).capture_content


def test_a_consent_has_a_name_and_a_time_and_is_in_the_trail(tenant: Tenant, admin: User) -> None:
    consent(tenant, agreed=True, by=admin)
    assert tenant.capture_consented_by == admin.email
    assert Tenant.objects.filter(capture_consented_at__isnull=False).exists()

    consent(tenant, agreed=False, by=admin)
    assert tenant.capture_consented_by == ""
    assert not Tenant.objects.filter(capture_consented_at__isnull=False).exists()
    allow(tenant.organisation, allowed=True, by=admin)
    allow(tenant.organisation, allowed=False, by=admin)
    events = AuditEvent.objects.filter(actor_label=admin.email).order_by("id")
    assert [event.action for event in events] == [
        "tenant.agree_to_capture",
        "tenant.withdraw_capture",
        "organisation.allow_capture",
        "organisation.forbid_capture",
    ]


def test_a_start_with_the_deployments_gate_closed_tells_the_nodes(
    tenant: Tenant, settings: Any
) -> None:
    opened(tenant, settings, *Gate)
    settings.CAPTURE_CONTENT = False
    assert published(tenant)

    publish_settled()

    assert not published(tenant)
