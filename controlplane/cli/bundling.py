"""What a node needs to serve some tenants and no others, as a bundle (03 section 9.1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from controlplane.accounts.models import Tenant, TenantUpstream
from controlplane.fleet import queries
from dataplane.core.config import resource


class UnknownTenantError(LookupError):
    """No tenant, or several, of that slug."""


def bundle_of(slugs: Sequence[str]) -> bytes:
    """The tenants, the shards with their keys only, their upstreams only, and the prices."""
    tenants = [tenant_of(slug) for slug in slugs]
    uids = {tenant.uid for tenant in tenants}
    chosen = TenantUpstream.objects.filter(tenant__in=tenants)
    names = set(chosen.values_list("upstream__name", flat=True))
    narrowed = (narrow(found, uids, names) for found in queries.all_published())
    return resource.bundle([found for found in narrowed if found is not None])


def tenant_of(slug: str) -> Tenant:
    found = list(Tenant.objects.filter(slug=slug)[:2])
    if len(found) != 1:
        raise UnknownTenantError(f"{'no' if not found else 'more than one'} tenant {slug!r}")
    return found[0]


def narrow(
    found: resource.Resource, tenants: Collection[str], upstreams: Collection[str]
) -> resource.Resource | None:
    """As much of the resource as concerns these tenants; None when that is nothing."""
    kind = found.envelope.type
    if kind == resource.TENANT:
        return found if found.envelope.name in tenants else None
    if kind == resource.AUTH_INDEX:
        entries = msgspec.json.decode(found.body, type=list[resource.AuthEntry])
        return with_body(found, resource.encode([one for one in entries if one[2] in tenants]))
    if kind == resource.NODE:
        node = msgspec.json.decode(found.body, type=resource.NodeBody)
        kept = [one for one in node.upstreams if one.name in upstreams]
        return with_body(found, resource.encode(msgspec.structs.replace(node, upstreams=kept)))
    return found


def with_body(found: resource.Resource, body: bytes) -> resource.Resource:
    envelope = msgspec.structs.replace(found.envelope, hash=resource.hash_of(body))
    return resource.Resource(envelope, body)
