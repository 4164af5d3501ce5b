"""Send what is due, each channel by itself, so that a blocked one delays no other (04 §7).

A delivery is claimed by moving its next try, compared with what it was: two processes that look
at once do not both send it. What fails is tried again later, under the same identifier.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import close_old_connections, transaction
from django.db.models import F, Min, OuterRef, Subquery
from django.utils import timezone

from controlplane.accounts.sealing import SealError
from controlplane.alarms import mailing, webhooks
from controlplane.alarms.models import Channel, Delivery
from controlplane.alarms.opening import sight
from controlplane.alarms.outbound import OutboundError
from controlplane.alarms.sightings import Sighting

log = logging.getLogger("headrace.alarms")
# Until the next try, after the first, the second, … has failed; after the last it is given up.
WAITS = (
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
)
CLAIMED_FOR = timedelta(seconds=60)
FAILURES_MAX = 50
THREADS = 4
SUCCESS = range(200, 300)

_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="deliveries")
Start = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """status: of HTTP, None where there is none. answer: what was said, or what went wrong."""

    is_delivered: bool
    status: int | None
    answer: str


def in_pool(pk: int) -> None:
    _pool.submit(_deliver_in_thread, pk)


def deliver_due(now: datetime, start: Start = in_pool) -> int:
    """Start sending one delivery for each channel that has one due; how many."""
    claimed = [delivery for delivery in _first_due(now) if _claim(delivery, now)]
    for delivery in claimed:
        start(delivery.pk)
    return len(claimed)


def next_delivery() -> datetime | None:
    """When the next one is due."""
    waiting = Delivery.objects.filter(state=Delivery.State.PENDING, channel__disabled_at=None)
    soonest: datetime | None = waiting.aggregate(at=Min("next_at"))["at"]
    return soonest


def _first_due(now: datetime) -> list[Delivery]:
    """One of each channel, however many wait for one that is blocked."""
    due = Delivery.objects.filter(state=Delivery.State.PENDING, next_at__lte=now)
    first = due.filter(channel=OuterRef("pk")).order_by("next_at", "id").values("pk")[:1]
    ready = Channel.objects.filter(disabled_at=None).annotate(first=Subquery(first))
    chosen = list(ready.exclude(first=None).values_list("first", flat=True))
    return list(due.filter(pk__in=chosen).order_by("next_at", "id")) if chosen else []


def _claim(delivery: Delivery, now: datetime) -> bool:
    waiting = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.PENDING, next_at=delivery.next_at
    )
    return bool(waiting.update(next_at=now + CLAIMED_FOR, attempt=F("attempt") + 1))


def _deliver_in_thread(pk: int) -> None:
    close_old_connections()
    try:
        deliver(pk)
    except Exception:
        # Nobody waits for the thread; the claim runs out and the delivery is tried again.
        log.exception("alarm.delivery_failed")
    finally:
        close_old_connections()


def deliver(pk: int) -> None:
    """Send one that was claimed, and keep what came of it.

    One that waited for a thread for so long that its claim ran out may be sent already.
    """
    waiting = Delivery.objects.filter(state=Delivery.State.PENDING)
    held = waiting.select_related("channel__secret", "channel__former", "alarm")
    delivery = held.filter(pk=pk).first()
    if delivery is None:
        return
    started = time.perf_counter()
    outcome = attempt(delivery)
    conclude(delivery, outcome, (time.perf_counter() - started) * 1000)


def attempt(delivery: Delivery) -> Outcome:
    """One try; whatever goes wrong outside is an outcome."""
    try:
        if delivery.channel.kind == Channel.Kind.EMAIL:
            mailing.send(delivery)
            return Outcome(is_delivered=True, status=None, answer="accepted")
        answer = webhooks.send(delivery, timezone.now())
    except (OutboundError, SealError, OSError) as problem:
        return Outcome(is_delivered=False, status=None, answer=str(problem))
    return Outcome(answer.status in SUCCESS, answer.status, answer.body)


@transaction.atomic
def conclude(delivery: Delivery, outcome: Outcome, took_ms: float) -> None:
    """Keep the outcome; a channel that only fails is switched off, and that is an alarm."""
    now = timezone.now()
    delivery.http_status, delivery.took_ms = outcome.status, took_ms
    delivery.answer = outcome.answer[:1024]
    if outcome.is_delivered:
        delivery.state, delivery.next_at = Delivery.State.DELIVERED, None
    elif delivery.attempt > len(WAITS):
        delivery.state, delivery.next_at = Delivery.State.GIVEN_UP, None
    else:
        delivery.next_at = now + WAITS[delivery.attempt - 1]
    if delivery.state != Delivery.State.PENDING:
        delivery.finished_at = now
    delivery.save(
        update_fields=["http_status", "took_ms", "answer", "state", "next_at", "finished_at"]
    )
    _keep_score(delivery.channel, now, is_delivered=outcome.is_delivered)


def _keep_score(channel: Channel, now: datetime, *, is_delivered: bool) -> None:
    if is_delivered:
        Channel.objects.filter(pk=channel.pk).update(failures=0, verified_at=now)
        return
    Channel.objects.filter(pk=channel.pk).update(failures=F("failures") + 1)
    broken = Channel.objects.filter(
        pk=channel.pk, disabled_at=None, failures__gte=FAILURES_MAX
    ).update(disabled_at=now)
    if broken:
        sight([Sighting(rule="channel_disabled", at=now, subject=channel.name)])
