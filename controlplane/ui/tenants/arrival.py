"""Whether a key has been used, and what was turned away meanwhile (04 §5.13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey, Tenant
from controlplane.figures.numerals import plural
from controlplane.telemetry.models import CredentialUse
from controlplane.telemetry.queries import Window, uses
from controlplane.telemetry.queries import turned_away as refusals
from controlplane.ui.frame.moments import at
from controlplane.ui.frame.shown_text import visible

HOUR_S = 3600

TURNED_AWAY = {
    "no_provider_key": "no key of the provider came with it",
    "forbidden": "the tenant is disabled or the address is not open to it",
    "no_upstream": "no upstream is chosen for its dialect",
    "rate_limit": "the tenant's limit was reached",
    "concurrency": "the tenant has too many requests under way",
    "bad_request": "its body could not be read",
    "body_too_large": "its body is too large",
    "upstream_error": "the provider could not be reached",
    "overloaded": "the node is at its limit",
}


@dataclass(frozen=True, slots=True)
class Use:
    """A credential's first request, and the time of its last one, on whichever node."""

    first_at: datetime
    last_at: datetime
    session: str
    model: str
    status: int


Uses = Mapping[str, Use]


def uses_of(credentials: Iterable[DataPlaneKey | AgentKeyBinding]) -> Uses:
    """By principal: of those that have been used, as nodes reported it; one statement."""
    found = uses([credential.principal for credential in credentials])
    return {principal: _use(row) for principal, row in found.items()}


def _use(row: CredentialUse) -> Use:
    first_at, last_at = at(row.first_at), at(row.last_at)
    return Use(first_at, last_at, row.session_uid, visible(row.model), row.status)


def turned_away(tenant: Tenant) -> Mapping[str, int]:
    """Requests of the tenant that nodes refused within the last hour, by reason."""
    return refusals(tenant.uid, Window.last(HOUR_S))


def in_words(since: int, counted: Mapping[str, int]) -> str:
    """What was turned away after `since` requests had been; "" for nothing."""
    new = sum(counted.values()) - since
    if new <= 0:
        return ""
    why = "; ".join(TURNED_AWAY.get(reason, reason.replace("_", " ")) for reason in counted)
    return f"{plural(new, 'request')} of this tenant turned away meanwhile: {why}."
