"""Who has to agree before texts of a tenant are kept, and who has (04 §5.13, 8.7)."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.accounts.capture import Gate, closed_gates
from controlplane.accounts.models import Tenant

WHO_OPENS = {
    Gate.DEPLOYMENT: "Whoever runs the deployment opens it with HEADRACE_CAPTURE_CONTENT=1.",
    Gate.ORGANISATION: "An administrator of the organisation opens it on the members page.",
    Gate.TENANT: "An administrator agrees to it on the page of the tenant.",
}


@dataclass(frozen=True, slots=True)
class GateRow:
    """who: opens it, or opened it."""

    name: str
    is_open: bool
    who: str


def gate_rows(tenant: Tenant) -> tuple[GateRow, ...]:
    """The three gates of a tenant."""
    closed = closed_gates(tenant)
    opened = {
        Gate.DEPLOYMENT: "HEADRACE_CAPTURE_CONTENT=1",
        Gate.ORGANISATION: f"{tenant.organisation.name} allows it.",
        Gate.TENANT: f"{tenant.capture_consented_by} agreed on",
    }
    return tuple(
        GateRow(gate.value, gate not in closed, WHO_OPENS[gate] if gate in closed else opened[gate])
        for gate in Gate
    )
