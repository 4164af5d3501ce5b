"""What is forgotten, and in which order: quota, age, size of the database, disk.

Quota first, so that one heavy tenant never evicts a quiet one. A request goes with its texts in
one transaction. The spend of a month is never touched. Source: 04 §1.7 and 7.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connections, transaction
from django.db.models import Count, Model, QuerySet

from controlplane.databases import TELEMETRY
from controlplane.telemetry.files import path_of_database
from controlplane.telemetry.models import (
    ComponentBucket,
    ContentBlob,
    MarkerRecord,
    NodeStream,
    RequestRecord,
    SessionRecord,
    SignalBucket,
    TelemetryGap,
    TrafficBucket,
)
from controlplane.telemetry.resolutions import DAY_S, KEPT_S

PARENTS = 5_000
DISK_HIGH, DISK_LOW = 0.90, 0.85
BUCKETS = (TrafficBucket, ComponentBucket, SignalBucket)
VACUUM_PAGES = 2_000


@dataclass(frozen=True, slots=True)
class Limits:
    """request_rows: kept per tenant. database_bytes: what the rows may take, free space aside."""

    request_rows: int = 100_000
    request_age_s: int = 7 * DAY_S
    life_age_s: int = 90 * DAY_S
    database_bytes: int = 5 << 30


@dataclass(slots=True)
class Purged:
    """rows: deleted, by why. is_finished: False when the time was up; the next run goes on."""

    rows: Counter[str] = field(default_factory=Counter)
    is_finished: bool = True

    def __str__(self) -> str:
        done = ", ".join(f"{why} {n}" for why, n in self.rows.items() if n) or "nothing"
        return done if self.is_finished else f"{done}; more is left"


def disk_used_ratio() -> float:
    """Of the disk that holds the database; 0 where that is not ours to know."""
    path = path_of_database()
    if path is None:
        return 0.0
    usage = shutil.disk_usage(path.parent)
    return usage.used / usage.total


def purge(
    now_ms: int,
    limits: Limits | None = None,
    *,
    budget_s: float = 30.0,
    disk: Callable[[], float] = disk_used_ratio,
) -> Purged:
    """Forget what is over its limits, for at most so long."""
    limits = limits or Limits()
    run = _Run(Purged(), time.monotonic() + budget_s)
    run.over_quota(limits)
    run.aged(now_ms, limits)
    run.oldest("size", lambda: bytes_used() > limits.database_bytes)
    if disk() > DISK_HIGH:
        run.oldest("disk", lambda: disk() > DISK_LOW)
    _give_back()
    return run.purged


@dataclass(slots=True)
class _Run:
    """One purge. deadline: of time.monotonic, after which nothing new is begun."""

    purged: Purged
    deadline: float

    def over_quota(self, limits: Limits) -> None:
        heavy = (
            RequestRecord.objects.values("tenant_uid")
            .annotate(n=Count("id"))
            .filter(n__gt=limits.request_rows)
            .values_list("tenant_uid", flat=True)
        )
        for tenant in heavy:
            own = RequestRecord.objects.filter(tenant_uid=tenant)
            newest = own.order_by("-id").values_list("id", flat=True)
            kept = newest[limits.request_rows - 1]
            self._requests("quota", own.filter(pk__lt=kept))

    def aged(self, now_ms: int, limits: Limits) -> None:
        before = now_ms - limits.request_age_s * 1000
        self._requests("age", RequestRecord.objects.filter(at__lt=before))
        for resolution_s, kept_s in KEPT_S.items():
            for table in BUCKETS:
                old = {"resolution_s": resolution_s, "bucket_at__lt": now_ms - kept_s * 1000}
                self._rows("age", table, old)
        before = now_ms - limits.life_age_s * 1000
        self._rows("age", SessionRecord, {"last_at__lt": before})
        self._rows("age", MarkerRecord, {"created_at__lt": before})
        named_by_a_call_alone = {"created_at": None, "last_expanded_at__lt": before}
        self._rows("age", MarkerRecord, named_by_a_call_alone)
        self._rows("age", NodeStream, {"last_at__lt": before})
        self._rows("age", TelemetryGap, {"to_at__lt": before})

    def oldest(self, why: str, is_over: Callable[[], bool]) -> None:
        """The oldest requests of all tenants, until it is no longer over or none are left."""
        while is_over() and self._has_time():
            if not self._requests_once(why, RequestRecord.objects.all()):
                return
            _give_back()

    def _has_time(self) -> bool:
        if time.monotonic() < self.deadline:
            return True
        self.purged.is_finished = False
        return False

    def _requests(self, why: str, rows: QuerySet[RequestRecord]) -> None:
        while self._has_time() and self._requests_once(why, rows):
            pass

    def _requests_once(self, why: str, rows: QuerySet[RequestRecord]) -> int:
        """The oldest of these rows with everything that hangs on them."""
        with transaction.atomic(using=TELEMETRY):
            taken = list(rows.order_by("id").values_list("id", flat=True)[:PARENTS])
            if taken:
                _delete(ContentBlob, request_id__in=taken)
                _delete(RequestRecord, id__in=taken)
        self.purged.rows[why] += len(taken)
        return len(taken)

    def _rows(self, why: str, table: type[Model], old: dict[str, Any]) -> None:
        while self._has_time():
            with transaction.atomic(using=TELEMETRY):
                found = table._default_manager.filter(**old)
                taken = list(found.values_list("pk", flat=True)[:PARENTS])
                if taken:
                    _delete(table, pk__in=taken)
            self.purged.rows[why] += len(taken)
            if len(taken) < PARENTS:
                return


def _delete(table: type[Model], **which: Any) -> None:
    """Without fetching the rows first, as QuerySet.delete does where something may hang on them."""
    rows = table._default_manager.filter(**which)
    rows._raw_delete(using=TELEMETRY)


def bytes_used() -> int:
    """What the rows take up, without pages that are free again; 0 for a server's database."""
    if connections[TELEMETRY].vendor != "sqlite":
        return 0
    pages, free, size = (_pragma(name) for name in ("page_count", "freelist_count", "page_size"))
    return (pages - free) * size


def _give_back() -> None:
    """Return some free pages to the file system."""
    connection = connections[TELEMETRY]
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()


def _pragma(name: str) -> int:
    with connections[TELEMETRY].cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return int(cursor.fetchone()[0])
