"""A tenant's credentials as rows ready to show (04 §5.13)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey, Tenant
from controlplane.accounts.queries import agent_keys_of, keys_of
from controlplane.ui.frame.credentials import EXPIRED, LIVE, REVOKED
from controlplane.ui.frame.verdicts import Verdict
from controlplane.ui.tenants.arrival import Use, uses_of


@dataclass(frozen=True, slots=True)
class KeyRow:
    """ended_at: since when it is not live; used_at: its last request, as nodes reported it."""

    key: DataPlaneKey
    state: Verdict
    ended_at: datetime | None
    used_at: datetime | None

    @property
    def is_live(self) -> bool:
        return self.state is LIVE


@dataclass(frozen=True, slots=True)
class BindingRow:
    binding: AgentKeyBinding
    used_at: datetime | None


def key_rows(tenant: Tenant) -> list[KeyRow]:
    now, found = timezone.now(), list(keys_of(tenant))
    uses = uses_of(found)
    return [_row(key, now, uses.get(key.principal)) for key in found]


def _row(key: DataPlaneKey, now: datetime, use: Use | None) -> KeyRow:
    used_at = use.last_at if use else None
    if key.revoked_at is not None:
        return KeyRow(key, REVOKED, key.revoked_at, used_at)
    if not key.is_live(now):
        return KeyRow(key, EXPIRED, key.expires_at, used_at)
    return KeyRow(key, LIVE, None, used_at)


def binding_rows(tenant: Tenant) -> list[BindingRow]:
    found = agent_keys_of(tenant)
    uses = uses_of(found)
    used = [(binding, uses.get(binding.principal)) for binding in found]
    return [BindingRow(binding, use.last_at if use else None) for binding, use in used]
