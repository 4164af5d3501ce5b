"""Whether a key has been used, and what was turned away meanwhile (04 section 5.13)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey, Tenant
from controlplane.fleet import running
from controlplane.ui.figures import part
from controlplane.ui.numerals import plural
from controlplane.ui.shown_text import visible

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
    """A credential's first request since the node started, and the time of its last one."""

    first_at: datetime
    last_at: datetime
    session: str
    model: str
    status: int


def use_of(credential: DataPlaneKey | AgentKeyBinding) -> Use | None:
    """None as long as it has not been used, or no node runs in this process."""
    found = running.arrival(credential.principal)
    if found is None:
        return None
    return Use(
        datetime.fromtimestamp(found.first_at, UTC),
        datetime.fromtimestamp(found.last_at, UTC),
        found.session,
        visible(found.model),
        found.status,
    )


def turned_away(tenant: Tenant) -> dict[str, int]:
    """Requests of the tenant that were refused since the node started, by reason."""
    refused = part(running.stats(tenant.uid) or {}, "refused")
    return {reason: count for reason, count in refused.items() if isinstance(count, int)}


def in_words(since: int, counted: dict[str, int]) -> str:
    """What was turned away after `since` requests had been; "" for nothing."""
    new = sum(counted.values()) - since
    if new <= 0:
        return ""
    why = "; ".join(TURNED_AWAY.get(reason, reason.replace("_", " ")) for reason in counted)
    return f"{plural(new, 'request')} of this tenant turned away meanwhile: {why}."
