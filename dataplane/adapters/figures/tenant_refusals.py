"""Refused requests by tenant and reason, bounded however many tenants there are.

A pair that was once counted under its tenant's name stays there, so its series never goes back.
Source: 03-proxy-and-recovery.md 6.2 (cardinality rules).
"""

from __future__ import annotations

from collections import Counter

from dataplane.core.door.refusal import REFUSALS

TENANTS_MAX = 2000
KEYS_MAX = 2048
OTHER = "_other"
REASONS = tuple(sorted({each.counted for each in REFUSALS.values() if each.counted}))


class TenantRefusals:
    """by_tenant: tenant id, or "_other" for those that came too late, to reason to count."""

    def __init__(self) -> None:
        self.by_tenant: dict[str, Counter[str]] = {}
        self._keys = 0

    def add(self, tenant: str, reason: str, count: int = 1) -> None:
        if reason not in self.by_tenant.get(tenant, ()) and not self._has_room(tenant):
            tenant = OTHER
        reasons = self.by_tenant.setdefault(tenant, Counter())
        self._keys += reason not in reasons and tenant != OTHER
        reasons[reason] += count

    def merge(self, by_tenant: dict[str, Counter[str]]) -> None:
        for tenant, reasons in by_tenant.items():
            for reason, count in reasons.items():
                self.add(tenant, reason, count)

    def copy(self) -> dict[str, Counter[str]]:
        return {tenant: Counter(reasons) for tenant, reasons in self.by_tenant.items()}

    def _has_room(self, tenant: str) -> bool:
        if self._keys >= KEYS_MAX - len(REASONS):
            return False
        named = len(self.by_tenant) - (OTHER in self.by_tenant)
        return tenant in self.by_tenant or named < TENANTS_MAX
