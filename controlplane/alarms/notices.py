"""What is told, and to whom: one delivery for each channel that wants it (04 §7).

A delivery is written in the transaction of the change it tells of, so that a crash in between
loses neither. Its payload has links and numbers, never the text of a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from controlplane.alarms.models import Alarm, Channel, Delivery, Occurrence, Severity, Silence
from controlplane.alarms.rules import headline

GRAVITY = (Severity.INFO, Severity.WARNING, Severity.CRITICAL)


def queue(alarm: Alarm, event: str) -> list[Delivery]:
    """One delivery for each channel, due now; none while the alarm is silenced."""
    now = timezone.now()
    if is_silenced(alarm, now):
        return []
    payload = payload_of(alarm)
    made = [
        Delivery(
            channel=channel, alarm=alarm, event=event, payload=payload, next_at=now, created_at=now
        )
        for channel in channels_for(alarm)
    ]
    for delivery in made:
        delivery.save(force_insert=True)
    return made


def is_silenced(alarm: Alarm, now: datetime) -> bool:
    """Whether somebody said that nobody needs to be told of it."""
    return Silence.objects.filter(
        fingerprint=alarm.fingerprint, starts_at__lte=now, ends_at__gt=now
    ).exists()


def channels_for(alarm: Alarm) -> Sequence[Channel]:
    """Those of the deployment, and of the organisation whose tenant it is about."""
    whose = Q(organisation=None)
    if alarm.tenant is not None:
        whose |= Q(organisation=alarm.tenant.organisation_id)
    heard = GRAVITY[: GRAVITY.index(Severity(alarm.severity)) + 1]
    return list(Channel.objects.filter(whose, disabled_at=None, least__in=heard))


def payload_of(alarm: Alarm) -> dict[str, Any]:
    """The `alarm` member of a message."""
    newest = alarm.occurrences.order_by("-id").first()
    return {
        "uid": alarm.uid,
        "rule": alarm.rule,
        "severity": alarm.severity,
        "state": alarm.state,
        "title": headline(alarm.rule, alarm.count, alarm.subject, alarm.node),
        "tenant": alarm.tenant.uid if alarm.tenant else None,
        "tenant_label": alarm.tenant.label if alarm.tenant else None,
        "node": alarm.node or None,
        "count": alarm.count,
        "first_at": _ms(alarm.first_at),
        "last_at": _ms(alarm.last_at),
        "url": f"{settings.ENVIRONMENT.base_url}/alarms/{alarm.uid}",
        "occurrence": _evidence(newest) if newest else None,
    }


def _evidence(seen: Occurrence) -> dict[str, Any]:
    return {
        "at": _ms(seen.at),
        "session": seen.session or None,
        "turn": seen.turn,
        "request": seen.request or None,
        "marker": seen.marker or None,
        "component": seen.component or None,
        "cause": seen.cause or None,
    }


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
