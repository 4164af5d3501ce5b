"""The door of a node: identity, then room, both before the body is asked for.

Source: 03-proxy-and-recovery.md 1.3, 1.6, 2.1 (steps 2 to 4).
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from dataplane.adapters.door.gatekeeper import Gatekeeper
from dataplane.adapters.door.limits import BodyRoom, Limits
from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.serving.snapshots import Principal, Snapshots, Tenant
from dataplane.core.door.headers import CLOCK_HEADER
from dataplane.core.record import Record
from dataplane.core.serving.overrides import Wish
from dataplane.settings import Settings, is_loopback


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


class Door:
    """Who is let in, and how many are inside.

    pins: how many running requests hold a configuration, by tenant id and hash.
    """

    def __init__(self, settings: Settings, snapshots: Snapshots) -> None:
        self._settings = settings
        self._snapshots = snapshots
        self.gatekeeper = Gatekeeper(
            snapshots,
            failures_per_minute=settings.auth_fail_per_min,
            clock=time.time,
            proxies=settings.trusted_proxies,
            hosts=settings.allowed_hosts,
            asks_nobody=settings.is_single_tenant,
        )
        self.limits = Limits(big_body_slots=settings.big_body_slots)
        self.pins: Counter[tuple[str, str]] = Counter()
        self.inflight, self.is_draining = 0, False

    @property
    def is_full(self) -> bool:
        return self.inflight > self._settings.node_inflight_max

    @property
    def pinned(self) -> int:
        """Configurations that are no longer current and that running requests still hold."""
        current = {(uid, tenant.hash) for uid, tenant in self._snapshots.tenants.items()}
        return len(self.pins.keys() - current)

    def instant(self, call: Call) -> float:
        """The time that decides everything in this request, in seconds."""
        if self._settings.test_clock and is_loopback((call.scope.get("server") or ("",))[0]):
            stated = call.header(CLOCK_HEADER)
            try:
                return float(stated) if stated else time.time()
            except ValueError:
                raise RefusedError("bad_body", detail="x-headrace-now is not a number.") from None
        return time.time()

    @contextlib.contextmanager
    def admitted(self, call: Call, *, slug: str = "") -> Iterator[Admission]:
        """Let one request in for as long as the block lasts. Raises RefusedError.

        What is refused inside the block is counted with the tenant, too.
        """
        if self.is_draining:
            raise RefusedError("draining")
        principal, tenant = self.gatekeeper.admit(call, slug=slug)
        uid, pin, at = tenant.body.tenant, (tenant.body.tenant, tenant.hash), self.instant(call)
        try:
            if self.is_full:
                raise RefusedError("overloaded")
            room = self.limits.enter(uid, tenant.body.limits, at)
            self.pins[pin] += 1
            try:
                yield Admission(call, principal, tenant, at, room)
            finally:
                self.limits.leave(uid, room)
                self.pins[pin] -= 1
                if not self.pins[pin]:
                    del self.pins[pin]
        except RefusedError as error:
            error.tenant = uid
            raise


def wish_of(call: Call, *, preset: str = "") -> Wish:
    """The pipeline or preset that a request asks for."""
    return Wish(
        call.header(b"x-context-guru-pipeline"), preset or call.header(b"x-context-guru-preset")
    )
