"""What nodes need to know of accounts: who a credential belongs to, and the upstreams."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q
from django.utils import timezone

from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey, Tenant, Upstream
from controlplane.audit.actions import Actor
from controlplane.fleet.actions import DEFAULT, publish
from dataplane.core import resource


def auth_shard(shard: str) -> bytes:
    """Every live credential whose digest begins with the hex digit, in the order of digests."""
    return resource.encode(sorted([*_keys(shard), *_agent_keys(shard)]))


def _keys(shard: str) -> Iterable[resource.AuthEntry]:
    lasting = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    keys = DataPlaneKey.objects.filter(lasting, revoked_at=None, key_hash__startswith=shard)
    for digest, tenant, principal in keys.values_list("key_hash", "tenant__uid", "principal"):
        yield digest, resource.TOKEN_KIND, tenant, principal


def _agent_keys(shard: str) -> Iterable[resource.AuthEntry]:
    bound = AgentKeyBinding.objects.filter(key_digest__startswith=shard)
    for digest, tenant, principal in bound.values_list("key_digest", "tenant__uid", "principal"):
        yield digest, resource.AGENT_KEY_KIND, tenant, principal


def node_body(_name: str) -> bytes:
    enabled = Upstream.objects.filter(enabled=True).select_related("key_secret")
    upstreams = [_upstream(row) for row in enabled.order_by("name")]
    return resource.encode(resource.NodeBody(upstreams=upstreams))


def _upstream(row: Upstream) -> resource.Upstream:
    """Of a held key only its name leaves this process (04 §1.2)."""
    return resource.Upstream(
        name=row.name,
        dialect=row.dialect,  # type: ignore[arg-type]
        base_url=row.base_url,
        key_ref=row.key_secret.name if row.key_secret else None,
        header=row.key_header or None,
        allow_server_state=row.allow_server_state,
        wan_compression=row.wan_compression,
        proxy_url=row.proxy_url or None,
        header_timeout_s=row.header_timeout_s,
        allow_private=row.allow_private,
    )


def publish_shard(digest: str, by: Actor | None) -> None:
    publish([(resource.AUTH_INDEX, digest[0])], by=name_of(by))


def publish_key(key: DataPlaneKey, by: Actor | None) -> None:
    publish_shard(key.key_hash, by)


def publish_upstreams(by: Actor | None) -> None:
    publish([(resource.NODE, DEFAULT)], by=name_of(by))


def publish_tenant(tenant: Tenant, by: Actor | None) -> None:
    publish([(resource.TENANT, tenant.uid)], by=name_of(by))


def publish_tenants(tenants: Iterable[Tenant], by: Actor | None) -> None:
    publish([(resource.TENANT, tenant.uid) for tenant in tenants], by=name_of(by))


def name_of(by: Actor | None) -> str:
    return by.actor_label if by else "system"
