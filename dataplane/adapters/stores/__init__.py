"""The stores of originals and session state, and the one that routes tenants among them.

Source: 03-proxy-and-recovery.md 5.4. Each backend keeps the same contract (adapters.originals).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import astuple
from pathlib import Path
from typing import Literal

from dataplane.adapters.stores.memory import MemoryStore
from dataplane.adapters.stores.minted import MintedIds
from dataplane.adapters.stores.off import OffStore
from dataplane.adapters.stores.originals import (
    MEMORY_LIMITS,
    REDIS_LIMITS,
    SQLITE_LIMITS,
    Cached,
    Purged,
    Store,
    StoreLimits,
    StoreStats,
    Touch,
)
from dataplane.adapters.stores.redis import RedisStore
from dataplane.adapters.stores.sqlite import COMMIT_TIMEOUT_S, SqliteStore
from dataplane.adapters.stores.sqlite_file import Durability, store_path
from dataplane.adapters.stores.sqlite_writer import SWEEP_EVERY_S
from dataplane.adapters.stores.tally import COUNTERS, GAUGES
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    OpenTurn,
    Recall,
    Recalled,
    Scope,
    SessionView,
)
from dataplane.encryption import StoreEncryption
from dataplane.tasks import ended

__all__ = ["MemoryStore", "OffStore", "RedisStore", "SqliteStore", "StoreSet"]

PURGE_RETRY_S = 1.0
_log = logging.getLogger("headrace.store")
Backend = Literal["memory", "sqlite", "redis", "off"]
DEFAULT_LIMITS: dict[Backend, StoreLimits] = {
    "memory": MEMORY_LIMITS,
    "sqlite": SQLITE_LIMITS,
    "redis": REDIS_LIMITS,
    "off": MEMORY_LIMITS,
}


class StoreUnavailableError(ValueError):
    """The document asks for a backend that this node does not have."""


class StoreSet:
    """All backends of a node behind one Store; a tenant that was not configured uses sqlite."""

    def __init__(
        self,
        state_dir: Path,
        *,
        durability: Durability = "process",
        timeout_s: float = COMMIT_TIMEOUT_S,
        sweep_every_s: float = SWEEP_EVERY_S,
        encryption: StoreEncryption | None = None,
        shared: RedisStore | None = None,
    ) -> None:
        """shared: the store that several nodes use, None where there is none."""
        # Tells another tenant's id from one that nobody minted; None where nobody wants to know.
        self.minted: MintedIds | None = None
        self._state_dir = state_dir
        self._backends: dict[Backend, Store] = {
            "memory": MemoryStore(),
            "sqlite": SqliteStore(
                state_dir,
                durability=durability,
                timeout_s=timeout_s,
                sweep_every_s=sweep_every_s,
                encryption=encryption,
            ),
            "off": OffStore(),
        }
        if shared is not None:
            self._backends["redis"] = shared
        self._chosen: dict[str, Backend] = {}
        self._retired: set[str] = set()
        self._purging: dict[str, asyncio.Task[None]] = {}
        self._is_open = False

    def configure(self, tenant: str, backend: Backend, limits: StoreLimits | None = None) -> None:
        """Keep a tenant's state in this backend from the next request on.

        limits: None for the backend's defaults. Raises ValueError for a tenant id that cannot
        be a directory name, StoreUnavailableError for a backend that this node does not have.
        """
        if backend not in self._backends:
            raise StoreUnavailableError(f"This node has no {backend} store.")
        store_path(self._state_dir, tenant)
        self._retired.discard(tenant)
        self._chosen[tenant] = backend
        self._backends[backend].set_limits(tenant, limits or DEFAULT_LIMITS[backend])

    def backend_for(self, tenant: str) -> Store:
        return self._backends[self._chosen.get(tenant, "sqlite")]

    def tenants_in(self, backend: Backend) -> list[str]:
        """Those that were told to keep their state there."""
        return sorted(name for name, chosen in self._chosen.items() if chosen == backend)

    @property
    def persists(self) -> bool:
        return any(store.persists for store in self._backends.values())

    async def start(self) -> None:
        for store in self._backends.values():
            await store.start()
        self._is_open = True
        for tenant in self._retired:
            self._purge_later(tenant)

    async def close(self) -> None:
        self._is_open = False
        await ended(*self._purging.values())
        for store in self._backends.values():
            await store.close()
        if self.minted is not None:
            await self.minted.close()

    async def open_turn(self, wanted: OpenTurn) -> SessionView:
        return await self.backend_for(wanted.scope.tenant).open_turn(wanted)

    async def commit(self, wanted: Commit) -> Committed:
        committed = await self.backend_for(wanted.scope.tenant).commit(wanted)
        if self.minted is not None:
            new = (each.marker_id for each in wanted.payloads if not each.renews)
            self.minted.note(wanted.scope.tenant, committed.durable.intersection(new))
        return committed

    async def recall(self, wanted: Recall) -> Recalled:
        recalled = await self.backend_for(wanted.scope.tenant).recall(wanted)
        if self.minted is not None and recalled.found is Found.NEVER_MINTED:
            self.minted.ask(wanted.scope.tenant, wanted.marker_id)
        return recalled

    async def touch_turn(self, wanted: Touch) -> bool:
        return await self.backend_for(wanted.scope.tenant).touch_turn(wanted)

    def note_cached(self, wanted: Cached) -> None:
        self.backend_for(wanted.scope.tenant).note_cached(wanted)

    async def purge_tenant(self, tenant: str) -> Purged:
        """In every backend: the tenant may have been in another one before."""
        if self.minted is not None:
            self.minted.forget(tenant)
        purged = [await store.purge_tenant(tenant) for store in self._backends.values()]
        return Purged(*(sum(counts) for counts in zip(*map(astuple, purged), strict=True)))

    async def purge_session(self, scope: Scope) -> Purged:
        return await self.backend_for(scope.tenant).purge_session(scope)

    def retire(self, tenant: str) -> None:
        """The tenant is gone: purge it, and keep nothing of what its last requests still do.

        May be called before the start, which then purges.
        """
        self._chosen[tenant] = "off"
        if tenant not in self._retired:
            self._retired.add(tenant)
            if self._is_open:
                self._purge_later(tenant)

    def _purge_later(self, tenant: str) -> None:
        purging = asyncio.get_running_loop().create_task(self._purge_retired(tenant))
        self._purging[tenant] = purging
        purging.add_done_callback(lambda _: self._purging.pop(tenant, None))

    async def _purge_retired(self, tenant: str) -> None:
        while tenant in self._retired:
            try:
                purged = await self.purge_tenant(tenant)
            except OSError as error:
                _log.error("cg.purge_failed tenant=%s: %s", tenant, error)
                await asyncio.sleep(PURGE_RETRY_S)
            else:
                _log.info("cg.tenant_purged tenant=%s originals=%d", tenant, purged.originals)
                return

    def set_limits(self, tenant: str, limits: StoreLimits) -> None:
        self.backend_for(tenant).set_limits(tenant, limits)

    def stats(self, tenant: str | None = None) -> StoreStats:
        """Of one tenant, or of all that are in use, summed."""
        if tenant is not None:
            return self.backend_for(tenant).stats(tenant)
        used = {self._chosen[name] for name in self._chosen} or {"sqlite"}
        return _summed([self._backends[name].stats() for name in sorted(used)])


def _summed(parts: list[StoreStats]) -> StoreStats:
    """Gauges and counters add up; of the commit times the slower backend's are shown."""
    return StoreStats(
        backend="+".join(part.backend for part in parts),
        durability="+".join(part.durability for part in parts),
        authoritative=all(part.authoritative for part in parts),
        commit_ms_p50=max(part.commit_ms_p50 for part in parts),
        commit_ms_p99=max(part.commit_ms_p99 for part in parts),
        **{name: sum(getattr(part, name) for part in parts) for name in (*GAUGES, *COUNTERS)},
    )
