"""The store that keeps nothing: `store.enabled: false` (03-proxy-and-recovery.md 5.4)."""

from __future__ import annotations

from dataplane.adapters.stores.originals import Cached, Purged, StoreLimits, StoreStats, Touch
from dataplane.adapters.stores.retention import could_be_minted
from dataplane.adapters.stores.tally import CommitTimes, store_stats
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    OpenTurn,
    Recall,
    Recalled,
    Refused,
    Scope,
    SessionView,
)


class OffStore:
    """Answers at once, remembers nothing and proves nothing."""

    @property
    def persists(self) -> bool:
        return False

    async def start(self) -> None:
        return None

    async def close(self) -> None:
        return None

    async def open_turn(self, wanted: OpenTurn) -> SessionView:
        return SessionView()

    async def commit(self, wanted: Commit) -> Committed:
        refused = {payload.marker_id: Refused.UNAVAILABLE for payload in wanted.payloads}
        return Committed(frozenset(), refused)

    async def recall(self, wanted: Recall) -> Recalled:
        shape_is_ours = could_be_minted(wanted.marker_id)
        return Recalled(Found.LOST if shape_is_ours else Found.MALFORMED)

    async def touch_turn(self, wanted: Touch) -> bool:
        return False

    def note_cached(self, wanted: Cached) -> None:
        return None

    async def purge_tenant(self, tenant: str) -> Purged:
        return Purged(0, 0, 0)

    async def purge_session(self, scope: Scope) -> Purged:
        return Purged(0, 0, 0)

    def set_limits(self, tenant: str, limits: StoreLimits) -> None:
        return None

    def stats(self, tenant: str | None = None) -> StoreStats:
        return store_stats("off", "none", [], CommitTimes())
