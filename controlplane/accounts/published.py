"""What nodes need to know of accounts: who a credential belongs to, and the upstreams."""

from __future__ import annotations

from controlplane.accounts.models import DataPlaneKey, Tenant, Upstream
from controlplane.audit.actions import Actor
from controlplane.fleet.actions import DEFAULT, publish
from dataplane.core.config import resource


def auth_shard(shard: str) -> bytes:
    """Every live key whose digest begins with the hex digit, in the order of the digests."""
    keys = DataPlaneKey.objects.filter(revoked_at=None, key_hash__startswith=shard)
    rows = keys.order_by("key_hash").values_list("key_hash", "tenant__uid", "principal")
    return resource.encode([(key, resource.TOKEN_KIND, tenant, who) for key, tenant, who in rows])


def node_body(_name: str) -> bytes:
    upstreams = [
        resource.Upstream(name=row.name, dialect=row.dialect, base_url=row.base_url)  # type: ignore[arg-type]
        for row in Upstream.objects.order_by("name")
    ]
    return resource.encode(resource.NodeBody(upstreams=upstreams))


def publish_key(key: DataPlaneKey, by: Actor | None) -> None:
    publish([(resource.AUTH_INDEX, key.key_hash[0])], by=name_of(by))


def publish_upstreams(by: Actor | None) -> None:
    publish([(resource.NODE, DEFAULT)], by=name_of(by))


def publish_tenant(tenant: Tenant, by: Actor | None) -> None:
    publish([(resource.TENANT, tenant.uid)], by=name_of(by))


def name_of(by: Actor | None) -> str:
    return by.actor_label if by else "system"
