"""What `cold_cache: true` would have spared a tenant in its own last week (04 §2.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.queries.coverage import coverage, readable
from controlplane.telemetry.queries.windows import Window
from controlplane.telemetry.resolutions import DAY_S
from dataplane.core.prices.cold_savings import Billed, Spared, spared
from dataplane.core.prices.money import Rates

WEEK_S = 7 * DAY_S
ROWS_MAX = 20_000
_COLUMNS = (
    "session_uid", "thread", "model", "at", "cold_held", "fresh_input", "cache_read", "cache_write",
    "cache_write_1h", "compacted", "accounting",
)  # fmt: skip
PriceOf = Callable[[str, float], Rates | None]


@dataclass(frozen=True, slots=True)
class Resting:
    """sessions: that rested. is_whole: every request of the week was reported and looked at."""

    spared: Spared
    sessions: int
    is_whole: bool


NOTHING = Resting(Spared(), 0, is_whole=False)


def resting(tenant: str, price_of: PriceOf, now: int | None = None) -> Resting:
    """By the requests of one tenant (its uid), at the prices of price_of(model, seconds)."""
    window = Window.last(WEEK_S, now)
    return readable(lambda: _resting(tenant, price_of, window), NOTHING)


def _resting(tenant: str, price_of: PriceOf, window: Window) -> Resting:
    week = RequestRecord.objects.filter(
        tenant_uid=tenant, at__gte=window.since, at__lt=window.until, origin="agent"
    )
    rested = week.filter(cold_held__gt=0).order_by("session_uid")
    sessions = list(rested.values_list("session_uid", flat=True).distinct())
    if not sessions:
        return NOTHING
    turns = week.filter(session_uid__in=sessions).order_by("session_uid", "thread", "at", "pk")
    rows = list(turns.values_list(*_COLUMNS, named=True)[: ROWS_MAX + 1])
    found = (spared(_billed(rows, price_of)) for rows in _threads(rows[:ROWS_MAX]))
    is_whole = len(rows) <= ROWS_MAX and coverage(window).lost_batches == 0
    return Resting(reduce(add, found, Spared()), len(sessions), is_whole)


def _threads(rows: Iterable[Any]) -> Iterator[list[Any]]:
    for _, thread in groupby(rows, key=lambda row: (row.session_uid, row.thread)):
        yield list(thread)


def _billed(rows: Iterable[Any], price_of: PriceOf) -> Iterator[Billed]:
    for row in rows:
        is_known = row.accounting != "missing"
        yield Billed(
            held=row.cold_held,
            fresh=row.fresh_input,
            read=row.cache_read,
            written=row.cache_write,
            written_1h=row.cache_write_1h,
            compacted=row.compacted,
            rates=price_of(row.model, row.at / 1000) if is_known else None,
        )
