"""What a node needs to serve some tenants and no others, as a bundle (03 §9.1)."""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.accounts.models import Tenant
from controlplane.fleet.bundles import narrowed
from dataplane.core import resource


class UnknownTenantError(LookupError):
    """No tenant, or several, of that slug."""


def bundle_of(slugs: Sequence[str]) -> bytes:
    """The tenants, the shards with their keys only, their upstreams only, and the prices."""
    return resource.bundle(narrowed({tenant_of(slug).uid for slug in slugs}))


def tenant_of(slug: str) -> Tenant:
    found = list(Tenant.objects.filter(slug=slug)[:2])
    if len(found) != 1:
        raise UnknownTenantError(f"{'no' if not found else 'more than one'} tenant {slug!r}")
    return found[0]
