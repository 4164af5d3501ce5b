"""Everything that is fixed for one request once its caller is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from dataplane.adapters.drive import Driver
from dataplane.adapters.http import Call
from dataplane.adapters.limits import BodyRoom
from dataplane.adapters.snapshots import Tenant
from dataplane.core.config.overrides import Ignored
from dataplane.core.config.resource import Upstream
from dataplane.core.credential import CredentialPlan
from dataplane.core.effects import Effect
from dataplane.core.plan import Plan
from dataplane.core.record import Record
from dataplane.core.route import Route


@dataclass(slots=True)
class Ticket:
    """Everything that is fixed for one request once its caller is known."""

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
