"""What a store of originals and session state must do, whatever keeps the bytes.

Source: 03-proxy-and-recovery.md 5. Backends: memory, sqlite, redis and off, each in a
module of dataplane.adapters.stores; one contract test runs over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dataplane.core.effects import (
    Commit,
    Committed,
    OpenTurn,
    Recall,
    Recalled,
    Scope,
    SessionView,
)


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """What one tenant's store may hold (03 §5.4); the defaults go by backend.

    stash_ttl_s: lifetime of originals alone, 0 for ttl_s. An original that is gone is stashed
    again with the next turn that replays its decision, because the agent sends it again.
    """

    ttl_s: int
    max_entries: int
    max_sessions: int
    max_bytes: int
    max_payload_bytes: int
    stash_ttl_s: int = 0

    @property
    def original_ttl_s(self) -> int:
        return min(self.stash_ttl_s or self.ttl_s, self.ttl_s)


MEMORY_LIMITS = StoreLimits(
    ttl_s=1800, max_entries=1000, max_sessions=100, max_bytes=256 << 20, max_payload_bytes=8 << 20
)
SQLITE_LIMITS = StoreLimits(
    ttl_s=86_400,
    max_entries=200_000,
    max_sessions=10_000,
    max_bytes=2 << 30,
    max_payload_bytes=8 << 20,
)
REDIS_LIMITS = StoreLimits(
    ttl_s=86_400,
    max_entries=200_000,
    max_sessions=10_000,
    max_bytes=1 << 30,
    max_payload_bytes=4 << 20,
)


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Gauges and counters of one backend, over all tenants unless a tenant was asked for."""

    backend: str
    durability: str
    authoritative: bool
    stash_live: int
    stash_capacity: int
    stash_bytes: int
    stash_max_bytes: int
    stash_refused: int
    refused_for_disk: int
    stash_missing: int
    stash_expired: int
    stash_revived: int
    frozen_dropped: int
    frozen_repaired: int
    commits: int
    commit_timeouts: int
    commit_ms_p50: float
    commit_ms_p99: float


@dataclass(frozen=True, slots=True)
class Purged:
    """How much of each a purge took away."""

    originals: int
    decisions: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Touch:
    """A ping to a provider, which restarts the idle clock of a thread without being a turn of it.

    at: when it starts, seconds. since: the start of what came before it.
    """

    scope: Scope
    at: float
    since: float


class Cached(NamedTuple):
    """An answer reported cache tokens. at: when its upstream request started, seconds."""

    scope: Scope
    at: float


class Store(Protocol):
    """Every method may be called concurrently from one event loop; none raises for a missing,
    expired or refused entry. A backend that fails answers so: an unavailable SessionView, a
    Committed without the ids, Found.STORE_ERROR.
    """

    @property
    def persists(self) -> bool:
        """False for `off`: nothing is kept, so no marker may be written."""
        ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def open_turn(self, wanted: OpenTurn) -> SessionView: ...

    async def commit(self, wanted: Commit) -> Committed: ...

    async def recall(self, wanted: Recall) -> Recalled: ...

    async def touch_turn(self, wanted: Touch) -> bool:
        """Restart the clock of a thread. False, and nothing changed, when its last turn was not at
        `since`: it went on, perhaps through another process, or the store does not say.
        """
        ...

    def note_cached(self, wanted: Cached) -> None:
        """Remember with the thread's turn that its provider caches it. Nobody waits for it: the
        next turn of this process knows at once, one of another process within a minute.
        """
        ...

    async def purge_tenant(self, tenant: str) -> Purged:
        """Delete everything of a tenant; its ids are deleted from then on, not lost. Raises
        OSError when that failed.
        """
        ...

    async def purge_session(self, scope: Scope) -> Purged:
        """Delete a key's session and the originals that only it owned. Raises OSError or another
        error of the backend when that failed.
        """
        ...

    def set_limits(self, tenant: str, limits: StoreLimits) -> None: ...

    def stats(self, tenant: str | None = None) -> StoreStats: ...
