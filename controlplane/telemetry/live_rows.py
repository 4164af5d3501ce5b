"""What live pages are told of a batch: which figures moved, never the figures' meaning (04 §6.4).

Streams read what changed anew, so that a message that comes twice, or not at all, harms nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from django.db import transaction
from django.db.models import Max

from controlplane.databases import TELEMETRY, Turn, take_turn
from controlplane.telemetry import hooks
from controlplane.telemetry.inserting import Row, insert
from controlplane.telemetry.models import LiveEvent
from controlplane.telemetry.queries.windows import now_ms
from controlplane.telemetry.resolutions import RESOLUTIONS, bucket_of
from controlplane.topics import Said
from dataplane.core.uplink import Delta, RequestRow

RING = 20_000
TRIM_EVERY = 500


def tell(deltas: Iterable[Delta], rows: Iterable[tuple[int, RequestRow]], *, now: int) -> None:
    """In the transaction of the batch; deltas and rows by our clock."""
    events = (*_moved(deltas, now), *_turns(rows, now))
    told = {(event["topic"], event["key"], event["tenant_uid"]): event for event in events}
    _insert(list(told.values()))


def append(said: Iterable[Said]) -> None:
    """What features told, in a transaction of its own."""
    now = now_ms()
    with transaction.atomic(using=TELEMETRY):
        take_turn(Turn.REPORTS, TELEMETRY)  # or a stream would read past what is not committed yet
        _insert(
            [_event(one.topic, one.type, one.key, one.tenant, dict(one.data), now) for one in said]
        )
    hooks.told()


def _insert(told: list[Row]) -> None:
    insert(LiveEvent, told)
    newest = LiveEvent.objects.aggregate(seq=Max("seq"))["seq"] or 0
    if told and newest % TRIM_EVERY < len(told):
        LiveEvent.objects.filter(seq__lte=newest - RING).delete()


def _moved(deltas: Iterable[Delta], now: int) -> Iterator[Row]:
    for delta in deltas:
        bucket_at = bucket_of(delta.bucket_at, RESOLUTIONS[0])
        moment = {"bucket_ts": bucket_at, "arm": delta.arm}
        key = f"{bucket_at}/{delta.arm}"
        yield _event("overview", "tiles", key, delta.tenant, moment, now)
        for name in delta.components:
            yield _event(f"component.{name}", "bucket", key, delta.tenant, moment, now)


def _turns(rows: Iterable[tuple[int, RequestRow]], now: int) -> Iterator[Row]:
    """One of each, however many requests of a session a batch holds."""
    newest = {(row.tenant, row.session): at for at, row in rows}
    for tenant, session in newest:
        yield _event("requests", "count", "", tenant, {}, now)
        if session:
            topic = f"session.{tenant}.{session}"
            yield _event("sessions", "count", "", tenant, {}, now)
            yield _event(topic, "turn", "", tenant, {"at": newest[tenant, session]}, now)


def _event(
    topic: str, kind: str, key: str, tenant: str, payload: dict[str, object], at: int
) -> Row:
    return {
        "topic": topic,
        "type": kind,
        "key": key,
        "organisation": "",
        "tenant_uid": tenant,
        "payload": json.dumps(payload),
        "at": at,
    }
