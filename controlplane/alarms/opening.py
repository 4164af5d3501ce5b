"""Sightings become alarms: one open alarm for each fingerprint (04 §1.5, 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction

from controlplane.accounts.models import Tenant
from controlplane.alarms import notices
from controlplane.alarms.models import Alarm, Occurrence, Severity, Step
from controlplane.alarms.rules import RULES, Rule
from controlplane.alarms.sightings import Sighting

FIRST_KEPT, LAST_KEPT = 100, 900
FLAPPING_WITHIN = timedelta(minutes=30)
FLAPPING_OPENINGS = 3  # opened a third time within half an hour: it no longer closes by itself
LONGEST = {"session": 128, "marker": 32, "component": 64, "cause": 32, "detail": 300}


def sight(sightings: Iterable[Sighting]) -> list[Alarm]:
    """Open or extend an alarm for each fingerprint; those that opened or fired again.

    One by a rule that is not known here opens nothing; one of a tenant that is not is the
    deployment's, because a loss may not go unsaid.
    """
    groups: dict[str, list[Sighting]] = {}
    for sighting in sightings:
        if sighting.rule in RULES:
            groups.setdefault(sighting.fingerprint, []).append(sighting)
    found = (_sight(fingerprint, group) for fingerprint, group in groups.items())
    return [alarm for alarm in found if alarm is not None]


@transaction.atomic
def _sight(fingerprint: str, group: Sequence[Sighting]) -> Alarm | None:
    first = group[0]
    tenant = Tenant.objects.filter(uid=first.tenant).first() if first.tenant else None
    rule = RULES[first.rule]
    alarm, is_new = Alarm.objects.select_for_update().get_or_create(
        fingerprint=fingerprint,
        state__in=(Alarm.State.FIRING, Alarm.State.ACKNOWLEDGED),
        defaults={
            "rule": first.rule,
            "state": Alarm.State.FIRING,
            "severity": _severity(rule, group),
            "tenant": tenant,
            "node": first.node,
            "subject": (first.subject if tenant else first.subject or first.tenant)[:120],
            "first_at": first.at,
            "last_at": first.at,
        },
    )
    again = "" if is_new else _why_again(alarm, rule, group)
    _add(alarm, group)
    if is_new:
        _note(alarm, Step.What.OPENED, first.at)
        notices.queue(alarm, "alarm.opened")
    elif again:
        _fire_again(alarm, first.at, again)
    return alarm if is_new or again else None


def _severity(rule: Rule, group: Sequence[Sighting]) -> str:
    return next((each.severity for each in group if each.severity), str(rule.severity))


def _why_again(alarm: Alarm, rule: Rule, group: Sequence[Sighting]) -> str:
    """Somebody took on a lesser fault, or the loss of other sessions; "" for nothing new."""
    if alarm.state != Alarm.State.ACKNOWLEDGED:
        return ""
    if alarm.severity != Severity.CRITICAL and _severity(rule, group) == Severity.CRITICAL:
        return "It has become critical."
    if not rule.is_loss:
        return ""
    known = set(alarm.occurrences.values_list("session", flat=True))
    is_elsewhere = any(sighting.session not in known for sighting in group)
    return "Seen in another session since." if is_elsewhere else ""


def _add(alarm: Alarm, group: Sequence[Sighting]) -> None:
    Occurrence.objects.bulk_create(_occurrence(alarm, sighting) for sighting in group)
    alarm.count += sum(sighting.number for sighting in group)
    alarm.last_at = max(alarm.last_at, *(sighting.at for sighting in group))
    graver = _severity(RULES[alarm.rule], group)
    if graver == Severity.CRITICAL:
        alarm.severity = graver
    alarm.save(update_fields=["count", "last_at", "severity"])
    _keep_first_and_last(alarm)


def _occurrence(alarm: Alarm, sighting: Sighting) -> Occurrence:
    cut = {name: getattr(sighting, name)[:length] for name, length in LONGEST.items()}
    return Occurrence(
        alarm=alarm,
        at=sighting.at,
        number=sighting.number,
        node=sighting.node[:64],
        turn=sighting.turn,
        request=sighting.request[:64],
        tokens=sighting.tokens,
        **cut,
    )


def _keep_first_and_last(alarm: Alarm) -> None:
    """The first hundred tell how it began, the last nine hundred how it is now."""
    kept = alarm.occurrences.count()
    if kept <= FIRST_KEPT + LAST_KEPT:
        return
    ids = list(alarm.occurrences.order_by("id").values_list("id", flat=True))
    alarm.occurrences.filter(id__gt=ids[FIRST_KEPT - 1], id__lt=ids[-LAST_KEPT]).delete()


def _fire_again(alarm: Alarm, at: datetime, why: str) -> None:
    alarm.state, alarm.reminded_at = Alarm.State.FIRING, None
    alarm.save(update_fields=["state", "reminded_at"])
    _note(alarm, Step.What.FIRED_AGAIN, at, note=why)
    notices.queue(alarm, "alarm.opened")


def _note(alarm: Alarm, what: Step.What, at: datetime, note: str = "") -> None:
    Step.objects.create(alarm=alarm, at=at, what=what, note=note)


def open_rules() -> frozenset[str]:
    """Those that have alarms which are not resolved."""
    return frozenset(
        Alarm.objects.exclude(state=Alarm.State.RESOLVED).order_by().values_list("rule", flat=True)
    )


@transaction.atomic
def settle(rule: str, seen: Iterable[str], now: datetime) -> int:
    """Resolve the open alarms of a rule that clears itself, except those seen; how many.

    seen: their fingerprints. One that comes and goes stays open, so that it is one alarm.
    """
    if not RULES[rule].clears_itself:
        return 0
    over = Alarm.objects.filter(rule=rule).exclude(state=Alarm.State.RESOLVED)
    resolved = 0
    for alarm in over.exclude(fingerprint__in=set(seen)):
        if is_flapping(alarm, now):
            continue
        alarm.state, alarm.resolved_at = Alarm.State.RESOLVED, now
        alarm.resolution = "It is no longer observed."
        alarm.save(update_fields=["state", "resolved_at", "resolution"])
        _note(alarm, Step.What.RESOLVED, now, note=alarm.resolution)
        notices.queue(alarm, "alarm.resolved")
        resolved += 1
    return resolved


def is_flapping(alarm: Alarm, now: datetime) -> bool:
    """It was opened again and again within half an hour."""
    recent = Alarm.objects.filter(fingerprint=alarm.fingerprint, first_at__gt=now - FLAPPING_WITHIN)
    return recent.count() >= FLAPPING_OPENINGS
