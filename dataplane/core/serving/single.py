"""The resources of a node that serves one tenant and asks nobody who they are.

Source: 03-proxy-and-recovery.md 1.3 (single-tenant mode).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import msgspec.structs

from dataplane.core import resource
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.problems import ConfigError
from dataplane.core.config.resolve import Effective
from dataplane.core.resource import Envelope, Resource

TENANT = ""
_LABEL = "local"


def resources(text: str, upstreams: Mapping[str, str], version: int) -> list[Resource]:
    """What such a node serves. Raises ConfigError with the problems of the document.

    upstreams: dialect to address, the operator's own words, so that they may lead anywhere.
    """
    checked = check(text, context=Context(components()))
    if checked.effective is None:
        raise ConfigError(list(checked.problems))
    known = [
        resource.Upstream(dialect, dialect, url, allow_private=True)  # type: ignore[arg-type]
        for dialect, url in upstreams.items()
    ]
    bodies: list[tuple[str, str, bytes]] = [
        (resource.NODE, "default", resource.encode(resource.NodeBody(known))),
        (resource.PRICES, "default", resource.encode(resource.PricesBody({}))),
        (resource.AUTH_INDEX, "0", resource.encode([])),
        (resource.TENANT, TENANT, resource.encode(_tenant(checked.effective, known))),
    ]
    return [
        Resource(Envelope(kind, name, 1, version, resource.hash_of(body)), body)
        for kind, name, body in bodies
    ]


def _tenant(effective: Effective, known: list[resource.Upstream]) -> resource.TenantBody:
    document = msgspec.to_builtins(effective.document)
    variant = resource.Variant(
        "local", 1, "sha256:" + effective.effective_hash, "base", effective.host, document
    )
    chosen: dict[str, str] = {upstream.dialect: upstream.name for upstream in known}
    return resource.TenantBody(TENANT, TENANT, _LABEL, chosen, [variant], store=document["store"])
