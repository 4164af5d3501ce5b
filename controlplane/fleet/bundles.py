"""What is published, as a bundle for some tenants narrows it: their keys and upstreams alone.

So a node that starts from one can be told from what a new bundle would hold (03 §9.1, 9.5).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from controlplane.fleet.published import all_published
from dataplane.core import resource

Name = tuple[str, str]  # type and name of a resource


def narrowed(tenants: Collection[str]) -> list[resource.Resource]:
    """tenants: uids. Their resources, the shards with their keys only, their upstreams only, and
    the prices.
    """
    published = all_published()
    upstreams = _chosen(published, tenants)
    found = (_narrow(each, tenants, upstreams) for each in published)
    return [each for each in found if each is not None]


def hashes(tenants: Collection[str]) -> Mapping[Name, str]:
    """Of what such a bundle would hold now."""
    return {
        (each.envelope.type, each.envelope.name): each.envelope.hash for each in narrowed(tenants)
    }


def _chosen(published: Collection[resource.Resource], tenants: Collection[str]) -> set[str]:
    """Names of the upstreams that these tenants use."""
    bodies = [
        msgspec.json.decode(each.body, type=resource.TenantBody)
        for each in published
        if each.envelope.type == resource.TENANT and each.envelope.name in tenants
    ]
    return {name for body in bodies for name in body.upstreams.values()}


def _narrow(
    found: resource.Resource, tenants: Collection[str], upstreams: Collection[str]
) -> resource.Resource | None:
    """As much of the resource as concerns these tenants; None when that is nothing."""
    kind = found.envelope.type
    if kind == resource.TENANT:
        return found if found.envelope.name in tenants else None
    if kind == resource.AUTH_INDEX:
        entries = msgspec.json.decode(found.body, type=list[resource.AuthEntry])
        return _with_body(found, resource.encode([one for one in entries if one[2] in tenants]))
    if kind == resource.NODE:
        node = msgspec.json.decode(found.body, type=resource.NodeBody)
        kept = [one for one in node.upstreams if one.name in upstreams]
        return _with_body(found, resource.encode(msgspec.structs.replace(node, upstreams=kept)))
    return found


def _with_body(found: resource.Resource, body: bytes) -> resource.Resource:
    envelope = msgspec.structs.replace(found.envelope, hash=resource.hash_of(body))
    return resource.Resource(envelope, body)
