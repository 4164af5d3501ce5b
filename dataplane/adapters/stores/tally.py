"""Counters and commit times of one backend, and the gauges it reports."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from dataplane.adapters.stores.originals import StoreLimits, StoreStats
from dataplane.adapters.stores.retention import Fill, reserve_capacity

GAUGES = ("stash_live", "stash_capacity", "stash_bytes", "stash_max_bytes")
COUNTERS = (
    "stash_refused",
    "refused_for_disk",
    "stash_missing",
    "stash_expired",
    "stash_revived",
    "frozen_dropped",
    "frozen_repaired",
    "commits",
    "commit_timeouts",
)
_RECENT_COMMITS = 2048


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass(slots=True)
class TenantTally:
    """Gauges and counters of one tenant; authoritative: its ledger proves what was minted."""

    limits: StoreLimits
    fill: Fill = field(default_factory=Fill)
    counted: Counter[str] = field(default_factory=Counter)
    authoritative: bool = False


class CommitTimes:
    """How long the last commits took, in ms."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_RECENT_COMMITS)

    def add(self, seconds: float) -> None:
        self._recent.append(seconds * 1000)

    def summary(self) -> tuple[float, float]:
        """Median and 99th percentile."""
        recent = list(self._recent)
        return percentile(recent, 0.5), percentile(recent, 0.99)


def store_stats(
    backend: str, durability: str, tallies: list[TenantTally], times: CommitTimes
) -> StoreStats:
    """The tallies of some tenants as one line of figures."""
    counted: Counter[str] = sum((tally.counted for tally in tallies), Counter())
    p50, p99 = times.summary()
    return StoreStats(
        backend=backend,
        durability=durability,
        authoritative=all(tally.authoritative for tally in tallies),
        stash_live=sum(tally.fill.payloads for tally in tallies),
        stash_capacity=sum(reserve_capacity(tally.limits) for tally in tallies),
        stash_bytes=sum(tally.fill.payload_bytes for tally in tallies),
        stash_max_bytes=sum(tally.limits.max_bytes for tally in tallies),
        **{name: counted[name] for name in COUNTERS},
        commit_ms_p50=p50,
        commit_ms_p99=p99,
    )
