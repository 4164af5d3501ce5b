"""The door of a node: identity, then room, both before the body is asked for.

Source: 03-proxy-and-recovery.md 1.3, 1.6, 2.1 (steps 2 to 4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.limits import BodyRoom
from dataplane.adapters.snapshots import Principal, Tenant
from dataplane.core.record import Record
from dataplane.core.serving.overrides import Wish

if TYPE_CHECKING:
    from dataplane.adapters.node import Node


class Admission(NamedTuple):
    """One authenticated request inside a node. at: its instant, seconds."""

    call: Call
    principal: Principal
    tenant: Tenant
    at: float
    room: BodyRoom

    def record(self, route: str, family: str) -> Record:
        tenant = self.tenant
        return Record(
            self.call.request_id,
            tenant.body.tenant,
            route,
            family,
            self.at,
            snapshot=tenant.hash,
            variant=tenant.variant.id if tenant.variant else "",
            arm=tenant.variant.role if tenant.variant else "base",
            captured=tenant.body.policy.content_capture,
        )


@contextlib.contextmanager
def admitted(node: Node, call: Call, *, slug: str = "") -> Iterator[Admission]:
    """Let one request in for as long as the block lasts. Raises RefusedError.

    What is refused inside the block is counted with the tenant, too.
    """
    if node.is_draining:
        raise RefusedError("draining")
    principal, tenant = node.gatekeeper.admit(call, slug=slug)
    pin = (tenant.body.tenant, tenant.hash)
    at = node.instant(call)
    try:
        if node.inflight > node.settings.node_inflight_max:
            raise RefusedError("overloaded")
        room = node.limits.enter(tenant.body.tenant, tenant.body.limits, at)
        node.pins[pin] += 1
        try:
            yield Admission(call, principal, tenant, at, room)
        finally:
            node.limits.leave(tenant.body.tenant, room)
            node.pins[pin] -= 1
            if not node.pins[pin]:
                del node.pins[pin]
    except RefusedError as error:
        error.tenant = tenant.body.tenant
        raise


def wish_of(call: Call, *, preset: str = "") -> Wish:
    """The pipeline or preset that a request asks for."""
    return Wish(
        call.header(b"x-context-guru-pipeline"), preset or call.header(b"x-context-guru-preset")
    )
