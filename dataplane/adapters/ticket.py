"""What is fixed for one provider request once its caller and its upstream are known.

Source: 03-proxy-and-recovery.md 2.1 (steps 1 to 5), 2.9.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from dataplane.adapters.door.limits import BodyRoom
from dataplane.adapters.drive import Driver
from dataplane.adapters.http import Call
from dataplane.adapters.outward.upstream import Way
from dataplane.adapters.serving.snapshots import Tenant
from dataplane.core.door.credential import CredentialPlan
from dataplane.core.door.headers import upstream_headers
from dataplane.core.door.route import Route
from dataplane.core.effects import Effect
from dataplane.core.record import Record
from dataplane.core.resource import Upstream
from dataplane.core.serving.overrides import Ignored
from dataplane.core.serving.plan import Plan


@dataclass(slots=True)
class Ticket:
    """One request at the gateway's door, admitted."""

    call: Call
    route: Route
    tenant: Tenant
    principal: str
    record: Record
    upstream: Upstream
    credential: CredentialPlan
    driver: Driver
    perform: Callable[[Effect], Awaitable[Any]]
    persists: bool
    room: BodyRoom
    plan: Plan
    ignored: Ignored | None = None

    @property
    def guards_state(self) -> bool:
        """Another tenant may have stored what this request could name."""
        shared = self.credential.is_held and not self.upstream.allow_server_state
        return shared and self.route.names_stored_state

    @property
    def reads_answer(self) -> bool:
        """The answer is looked at here, so it must not come in a coding that nobody can read."""
        return self.route.dialect is not None or self.route.is_fetched

    @property
    def url(self) -> str:
        """Where the request goes, with the query as the client spelt it."""
        address = self.upstream.base_url.rstrip("/") + self.route.path
        return f"{address}?{self.call.query}" if self.call.query else address

    @property
    def way(self) -> Way:
        return Way(self.upstream.proxy_url, self.upstream.header_timeout_s)

    def upstream_headers(self, *, forwards_clock: bool) -> list[tuple[bytes, bytes]]:
        """The headers that the provider gets, credential included."""
        coding = b"gzip" if self.upstream.wan_compression else b"identity"
        return upstream_headers(
            self.call.headers,
            self.credential,
            coding=coding if self.reads_answer else None,
            forwards_clock=forwards_clock,
        )
