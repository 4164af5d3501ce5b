"""A node's answer, as if it had sent one."""

from __future__ import annotations

from datetime import UTC, datetime

from controlplane.accounts.models import Tenant
from controlplane.fleet.models import NodeAck, PublishedResource
from dataplane.core import resource


def answered(tenant: Tenant, **answer: object) -> None:
    """A node's answer to the newest published version of the tenant."""
    newest = PublishedResource.objects.get(type=resource.TENANT, name=tenant.uid)
    NodeAck.objects.create(
        node_id="node-a",
        boot_id="boot",
        type=newest.type,
        name=newest.name,
        epoch=newest.epoch,
        version=newest.version,
        hash=newest.hash,
        answered_at=datetime(2026, 11, 30, 14, 27, tzinfo=UTC),
        **answer,
    )
