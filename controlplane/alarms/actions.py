"""What people do to alarms: take them on, put them to rest, silence them (04 §5.3).

Each is one transaction with its entry in the trail. Acknowledging resolves nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.alarms import notices
from controlplane.alarms.models import Alarm, Delivery, Severity, Silence, Step
from controlplane.audit.actions import Subject, record

LONGEST_SILENCE = timedelta(days=30)
LONGEST_SILENCE_OF_CRITICAL = timedelta(hours=24)
REMIND_EVERY = timedelta(hours=4)
MESSAGES_KEPT, RESOLVED_KEPT = timedelta(days=30), timedelta(days=400)
OVER = "This alarm is resolved."


@transaction.atomic
def acknowledge(alarm: Alarm, comment: str, *, by: User, until: datetime | None = None) -> Alarm:
    """The person owns it now, and reminders stop. ValidationError without a comment."""
    said = _said(comment, "Say what you are doing about it.")
    held = _locked(alarm)
    before = _state(held)
    now = timezone.now()
    held.state, held.acked_by, held.acked_at = Alarm.State.ACKNOWLEDGED, by, now
    held.ack_comment, held.ack_until = said, until
    held.save(update_fields=["state", "acked_by", "acked_at", "ack_comment", "ack_until"])
    _done(held, Step.What.ACKNOWLEDGED, by, said)
    record("alarm.acknowledge", _subject(held), by, before=before, after=_state(held), reason=said)
    notices.queue(held, "alarm.acknowledged")
    return held


@transaction.atomic
def resolve(alarm: Alarm, resolution: str, *, by: User) -> Alarm:
    """It is over, and the reason is kept. ValidationError without one."""
    said = _said(resolution, "Say what was done, for whoever meets it next.")
    held = _locked(alarm)
    before = _state(held)
    held.state, held.resolved_by = Alarm.State.RESOLVED, by.email
    held.resolved_at, held.resolution = timezone.now(), said
    held.save(update_fields=["state", "resolved_by", "resolved_at", "resolution"])
    _done(held, Step.What.RESOLVED, by, said)
    record("alarm.resolve", _subject(held), by, before=before, after=_state(held), reason=said)
    notices.queue(held, "alarm.resolved")
    return held


@transaction.atomic
def silence(alarm: Alarm, until: datetime, reason: str, *, by: User) -> Silence:
    """Nobody is told of it until then; the pages show it all the same.

    ValidationError without a reason, or for longer than its severity allows.
    """
    said = _said(reason, "Say why nobody needs to be told.")
    held = _locked(alarm)
    now = timezone.now()
    is_critical = held.severity == Severity.CRITICAL
    longest = LONGEST_SILENCE_OF_CRITICAL if is_critical else LONGEST_SILENCE
    if not now < until <= now + longest + timedelta(minutes=1):
        words = "24 hours" if is_critical else "30 days"
        raise ValidationError({"until": f"A silence of this severity lasts at most {words}."})
    made = Silence.objects.create(
        fingerprint=held.fingerprint, starts_at=now, ends_at=until, reason=said, created_by=by
    )
    _done(held, Step.What.SILENCED, by, said)
    record(
        "alarm.silence",
        _subject(held),
        by,
        after={"silence": made.uid, "ends_at": until.isoformat()},
        reason=said,
    )
    return made


# ---- what the clock does -----------------------------------------------------------------------


@transaction.atomic
def end_acknowledgements(now: datetime) -> int:
    """Alarms whose acknowledgement has run out fire again; how many."""
    over = Alarm.objects.filter(state=Alarm.State.ACKNOWLEDGED, ack_until__lte=now)
    for alarm in (found := list(over)):
        alarm.state, alarm.reminded_at = Alarm.State.FIRING, None
        alarm.save(update_fields=["state", "reminded_at"])
        Step.objects.create(alarm=alarm, at=now, what=Step.What.ACK_ENDED)
        notices.queue(alarm, "alarm.opened")
    return len(found)


@transaction.atomic
def remind(now: datetime) -> int:
    """Critical alarms that nobody took on are told of again every four hours; how many."""
    due = Q(reminded_at=None, first_at__lte=now - REMIND_EVERY) | Q(
        reminded_at__lte=now - REMIND_EVERY
    )
    waiting = Alarm.objects.filter(
        due, state=Alarm.State.FIRING, severity=Severity.CRITICAL
    ).select_related("tenant")
    for alarm in (found := list(waiting)):
        alarm.reminded_at = now
        alarm.save(update_fields=["reminded_at"])
        Step.objects.create(alarm=alarm, at=now, what=Step.What.REMINDED)
        notices.queue(alarm, "alarm.reminder")
    return len(found)


def forget(now: datetime) -> tuple[int, int]:
    """Messages and resolved alarms that were kept long enough; how many of each."""
    messages, _ = Delivery.objects.filter(created_at__lt=now - MESSAGES_KEPT).delete()
    over = Alarm.objects.filter(state=Alarm.State.RESOLVED, resolved_at__lt=now - RESOLVED_KEPT)
    _, by_table = over.delete()
    return messages, by_table.get(Alarm._meta.label, 0)


def _said(text: str, wanting: str) -> str:
    said = text.strip()
    if not said:
        raise ValidationError(wanting)
    return said[:500]


def _locked(alarm: Alarm) -> Alarm:
    """The row as it is now; ValidationError when it is resolved already."""
    held = Alarm.objects.select_for_update().get(pk=alarm.pk)
    if not held.is_open:
        raise ValidationError(OVER)
    return held


def _done(alarm: Alarm, what: Step.What, by: User, note: str) -> None:
    Step.objects.create(alarm=alarm, at=timezone.now(), what=what, who=by.email, note=note)


def _state(alarm: Alarm) -> dict[str, str]:
    return {"state": alarm.state, "owner": alarm.acked_by.email if alarm.acked_by else ""}


def _subject(alarm: Alarm) -> Subject:
    organisation = alarm.tenant.organisation.uid if alarm.tenant else ""
    return Subject(alarm.uid, alarm.rule, organisation)
