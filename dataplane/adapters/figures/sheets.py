"""What one worker has counted, as a value that can be written, read and added up.

Source: 03-proxy-and-recovery.md 6.1, 6.2.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from dataplane.adapters.figures.tenant_refusals import TenantRefusals
from dataplane.adapters.figures.totals import Totals, counters_from_json
from dataplane.adapters.stores.originals import StoreStats
from dataplane.adapters.stores.tally import COUNTERS, GAUGES

T = TypeVar("T")
SHARED_STORES = ("sqlite", "redis")
_SLOWEST = ("commit_ms_p50", "commit_ms_p99")


@dataclass(frozen=True, slots=True)
class Count:
    """Counters and store figures of one tenant, or of everything that a worker serves."""

    totals: Totals
    store: StoreStats


@dataclass(slots=True)
class Sheet:
    """One worker at one moment; `at` and `started_at` in seconds since the epoch.

    tenants: the Count of each as JSON, so that those which did not change are not encoded
    again. refusals: by tenant, then by reason. nacks: refused resources, by code. pinned:
    superseded configurations that requests still hold. kept: threads kept alive, by tenant.
    """

    boot_id: str
    at: float
    started_at: float
    count: Count
    inflight: int = 0
    pinned: int = 0
    is_stopped: bool = False
    tenants: dict[str, msgspec.Raw] = field(default_factory=dict)
    refusals: dict[str, Counter[str]] = field(default_factory=dict)
    nacks: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Workers:
    """The sheets of one host. gone: of workers that ended; what they counted still counts."""

    living: tuple[Sheet, ...]
    gone: tuple[Sheet, ...] = ()


def encode(value: Sheet | Count) -> bytes:
    return msgspec.json.encode(value)


def decode(body: bytes | msgspec.Raw, kind: type[T]) -> T:
    """A Sheet or a Count. Raises msgspec.DecodeError."""
    return msgspec.json.decode(body, type=kind, dec_hook=counters_from_json)


def summed(workers: Workers) -> Sheet:
    """All workers as if they were one; at least one must be living."""
    refusals = TenantRefusals()
    nacks: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for sheet in (*workers.living, *workers.gone):
        nacks.update(sheet.nacks)
        refusals.merge(sheet.refusals)
    for sheet in workers.living:
        kept.update(sheet.kept)
    newest = max(workers.living, key=lambda sheet: sheet.at)
    return dataclasses.replace(
        newest,
        started_at=min(sheet.started_at for sheet in workers.living),
        count=_added(
            [sheet.count for sheet in workers.living], [sheet.count for sheet in workers.gone]
        ),
        inflight=sum(sheet.inflight for sheet in workers.living),
        pinned=sum(sheet.pinned for sheet in workers.living),
        refusals=refusals.by_tenant,
        nacks=nacks,
        kept=kept,
    )


def of_tenant(workers: Workers, tenant: str, none: Count) -> Count:
    """One tenant over all workers; `none` where no living worker has served it."""
    living, gone = (
        [decode(sheet.tenants[tenant], Count) for sheet in sheets if tenant in sheet.tenants]
        for sheets in (workers.living, workers.gone)
    )
    return _added(living or [none], gone)


def _added(living: Sequence[Count], gone: Sequence[Count]) -> Count:
    totals = Totals()
    for count in (*living, *gone):
        totals.merge(count.totals)
    store = living[0].store
    for count in living[1:]:
        store = _both(store, count.store)
    for count in gone:
        store = _replaced(store, count.store, COUNTERS, _sum)
    return Count(totals, store)


def _both(one: StoreStats, other: StoreStats) -> StoreStats:
    """Two workers' stores. What a shared store holds is seen by both and must not count twice."""
    is_shared = any(name in one.backend and name in other.backend for name in SHARED_STORES)
    store = _replaced(one, other, GAUGES, max if is_shared else _sum)
    store = _replaced(store, other, _SLOWEST, max)
    store = _replaced(store, other, COUNTERS, _sum)
    return dataclasses.replace(store, authoritative=one.authoritative and other.authoritative)


def _replaced(
    one: StoreStats, other: StoreStats, names: Sequence[str], join: Callable[[Any, Any], Any]
) -> StoreStats:
    joined = {name: join(getattr(one, name), getattr(other, name)) for name in names}
    return dataclasses.replace(one, **joined)


def _sum(one: int, other: int) -> int:
    return one + other
