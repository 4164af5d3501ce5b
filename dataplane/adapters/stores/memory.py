"""The store in this process's memory: gone with the process, so its ledger proves nothing.

Source: 03-proxy-and-recovery.md 5.3 and 5.4. The work is done by tenant in
dataplane.adapters.stores.memory_tenant; here are the byte budget of the process and the figures.
"""

from __future__ import annotations

import time
from dataclasses import replace

from dataplane.adapters.stores.memory_tenant import Tenant
from dataplane.adapters.stores.originals import (
    MEMORY_LIMITS,
    Cached,
    Purged,
    StoreLimits,
    StoreStats,
    Touch,
)
from dataplane.adapters.stores.tally import CommitTimes, TenantTally, store_stats
from dataplane.core.effects import (
    Commit,
    Committed,
    OpenTurn,
    Recall,
    Recalled,
    Scope,
    SessionView,
)


class MemoryStore:
    """TTL and caps by tenant, the byte budget over the whole process."""

    def __init__(self, limits: StoreLimits = MEMORY_LIMITS) -> None:
        self._limits = limits
        self._tenants: dict[str, Tenant] = {}
        self._times = CommitTimes()

    @property
    def persists(self) -> bool:
        return True

    async def start(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def set_limits(self, tenant: str, limits: StoreLimits) -> None:
        self._tenant(tenant).limits = limits

    async def open_turn(self, wanted: OpenTurn) -> SessionView:
        return self._tenant(wanted.scope.tenant).open_turn(wanted)

    async def commit(self, wanted: Commit) -> Committed:
        began = time.perf_counter()
        tenant = self._tenant(wanted.scope.tenant)
        elsewhere = sum(t.payload_bytes for t in self._tenants.values()) - tenant.payload_bytes
        committed = tenant.commit(wanted, bytes_elsewhere=elsewhere)
        self._times.add(time.perf_counter() - began)
        return committed

    async def recall(self, wanted: Recall) -> Recalled:
        return self._tenant(wanted.scope.tenant).recall(wanted)

    async def touch_turn(self, wanted: Touch) -> bool:
        return self._tenant(wanted.scope.tenant).touch_turn(wanted)

    def note_cached(self, wanted: Cached) -> None:
        self._tenant(wanted.scope.tenant).note_cached(wanted)

    async def purge_tenant(self, tenant: str) -> Purged:
        held = self._tenant(tenant)
        self._tenants[tenant] = Tenant(held.limits, purged=True)
        return held.held

    async def purge_session(self, scope: Scope) -> Purged:
        return self._tenant(scope.tenant).purge_session(scope)

    def stats(self, tenant: str | None = None) -> StoreStats:
        chosen = [t for name, t in self._tenants.items() if tenant is None or name == tenant]
        tallies = [TenantTally(t.limits, t.fill, t.counted) for t in chosen]
        stats = store_stats("memory", "none", tallies, self._times)
        budget = max((tally.limits.max_bytes for tally in tallies), default=0)
        return replace(stats, stash_max_bytes=budget)  # shared by the tenants, so not summed

    def _tenant(self, name: str) -> Tenant:
        if name not in self._tenants:
            self._tenants[name] = Tenant(self._limits)
        return self._tenants[name]
