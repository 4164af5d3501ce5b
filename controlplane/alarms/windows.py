"""What the telemetry database says about the last minutes, as the rules ask for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Max, Sum

from controlplane.alarms.models import Occurrence, Watermark
from controlplane.telemetry.models import (
    LiveEvent,
    RequestRecord,
    TelemetryGap,
    TrafficBucket,
)
from controlplane.telemetry.queries import Loss, losses

RESOLUTION_S = 60
LONGEST = timedelta(minutes=15)
SLACK = timedelta(minutes=2)  # clocks of nodes differ from ours
COLUMNS = ("requests", "errors", "refused", "expands", "expand_missing", "expand_malformed",
           "stash_refused", "stash_missing", "unpriced")  # fmt: skip
BATCH = 500


@dataclass(slots=True)
class Window:
    """Counters of one tenant ("" for none) by the minute in which they were counted, in ms."""

    tenant: str
    minutes: dict[int, Counter[str]] = field(default_factory=dict)

    def total(self, name: str, *, since: datetime) -> int:
        """Of the minutes that begin at or after `since`."""
        start = _ms(since)
        return sum(counts[name] for at, counts in self.minutes.items() if at >= start)


def windows(now: datetime) -> list[Window]:
    """Of every tenant that anything was counted for in the last quarter of an hour."""
    found: dict[str, Window] = {}
    rows = TrafficBucket.objects.filter(
        resolution_s=RESOLUTION_S, bucket_at__gte=_ms(now - LONGEST)
    ).values("tenant_uid", "bucket_at", "counts", *COLUMNS)
    for row in rows.iterator():
        window = found.setdefault(row["tenant_uid"], Window(row["tenant_uid"]))
        counts = window.minutes.setdefault(row["bucket_at"], Counter())
        counts.update(row["counts"])
        counts.update({name: row[name] for name in COLUMNS})
    for counts in (each for window in found.values() for each in window.minutes.values()):
        # A decision that was dropped and made again soon after is no flip.
        counts["frozen_flips"] = counts["frozen_dropped"] - counts["frozen_repaired"]
    return list(found.values())


def together(counted: list[Window]) -> Window:
    """What was counted for anybody; tenant is ""."""
    whole = Window("")
    for window in counted:
        for at, counts in window.minutes.items():
            whole.minutes.setdefault(at, Counter()).update(counts)
    return whole


def alarmed(now: datetime) -> Counter[tuple[str, str]]:
    """How often each (rule, tenant) was seen in that time; what of it was counted is no news."""
    rows = (
        Occurrence.objects.filter(at__gte=now - LONGEST - SLACK)
        .values("alarm__rule", "alarm__tenant__uid")
        .annotate(seen=Sum("number"))
        .order_by()
    )
    return Counter(
        {(row["alarm__rule"], row["alarm__tenant__uid"] or ""): row["seen"] for row in rows}
    )


def newest() -> tuple[int, ...]:
    """Where reports have got to; signs of life alone do not move it."""
    ends = ((LiveEvent, "seq"), (RequestRecord, "id"), (TelemetryGap, "id"))
    return tuple(
        table._default_manager.aggregate(newest=Max(name))["newest"] or 0 for table, name in ends
    )


# ---- rows, each looked at once ------------------------------------------------------------------


def new_losses() -> list[Loss]:
    """Originals that were lost and not looked at yet, oldest first."""
    return losses(_read("losses"))


def losses_read(found: list[Loss]) -> None:
    """Remember them; to be called in the transaction that keeps what they mean."""
    if found:
        Watermark.objects.update_or_create(name="losses", defaults={"value": found[-1].position})


def new_gaps() -> list[TelemetryGap]:
    return list(TelemetryGap.objects.filter(id__gt=_read("gaps")).order_by("id")[:BATCH])


def gaps_read(rows: list[TelemetryGap]) -> None:
    if rows:
        Watermark.objects.update_or_create(name="gaps", defaults={"value": rows[-1].pk})


def follow_a_new_database() -> None:
    """Begin anew where the telemetry database was deleted: its numbers start below ours again."""
    newest = {
        "losses": RequestRecord.objects.aggregate(newest=Max("id"))["newest"] or 0,
        "gaps": TelemetryGap.objects.aggregate(newest=Max("id"))["newest"] or 0,
    }
    for name, value in newest.items():
        mark, _ = Watermark.objects.get_or_create(name=name, defaults={"value": 0})
        if mark.value > value:
            Watermark.objects.filter(pk=mark.pk).update(value=0)


def _read(name: str) -> int:
    return Watermark.objects.filter(name=name).values_list("value", flat=True).first() or 0


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
