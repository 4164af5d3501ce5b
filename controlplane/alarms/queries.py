"""Which alarms somebody sees, and what is on record about one (04 §5.3, 8.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, IntegerField, Min, Q, QuerySet, Value, When

from controlplane.accounts.models import Organisation
from controlplane.accounts.scopes import Scope
from controlplane.alarms.models import Alarm, Channel, Delivery, Severity, Silence
from controlplane.alarms.rules import RULES

READ = "telemetry:read"
SHOWN = 50
GRAVEST_FIRST = Case(
    When(severity=Severity.CRITICAL, then=Value(0)),
    When(severity=Severity.WARNING, then=Value(1)),
    default=Value(2),
    output_field=IntegerField(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmFilter:
    """state: open, resolved, or one of the states; "" for all. before: continue below this uid."""

    state: str = "open"
    severity: str = ""
    rule: str = ""
    tenant: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class AlarmPage:
    """older: what the next page continues from, "" on the last one."""

    rows: Sequence[Alarm]
    older: str


def visible(scope: Scope) -> QuerySet[Alarm]:
    """Those of the tenants that the scope reads; those of the deployment for whoever reads it."""
    seen = Q(tenant__in=scope.tenants(READ))
    if scope.may(READ, None):
        seen = Q()
    return Alarm.objects.filter(seen).select_related("tenant__organisation", "acked_by")


def open_alarms(scope: Scope) -> Sequence[Alarm]:
    """The gravest first, then the newest; at most a hundred."""
    found = visible(scope).exclude(state=Alarm.State.RESOLVED)
    return list(found.order_by(GRAVEST_FIRST, "-first_at", "-id")[:100])


def has_open_loss(scope: Scope, tenant: str = "") -> bool:
    """Whether an alarm about a lost original is not resolved. tenant: its uid, "" for all."""
    about = Q(tenant__uid=tenant) if tenant else Q()
    lost = [rule.key for rule in RULES.values() if rule.is_loss]
    found = visible(scope).filter(about, rule__in=lost)
    return found.exclude(state=Alarm.State.RESOLVED).exists()


def tenants_with_loss(scope: Scope) -> frozenset[str]:
    """Uids of the tenants with such an alarm; one statement."""
    lost = [rule.key for rule in RULES.values() if rule.is_loss]
    found = visible(scope).filter(rule__in=lost).exclude(state=Alarm.State.RESOLVED)
    return frozenset(filter(None, found.values_list("tenant__uid", flat=True)))


def alarms(scope: Scope, wanted: AlarmFilter) -> AlarmPage:
    """Newest first by when they began."""
    found = visible(scope).filter(_wanted(wanted))
    if wanted.before:
        found = found.filter(id__lt=Alarm.objects.filter(uid=wanted.before).values("id")[:1])
    rows = list(found.order_by("-id")[: SHOWN + 1])
    return AlarmPage(rows[:SHOWN], rows[SHOWN - 1].uid if len(rows) > SHOWN else "")


def _wanted(wanted: AlarmFilter) -> Q:
    found = Q()
    if wanted.state == "open":
        found &= ~Q(state=Alarm.State.RESOLVED)
    elif wanted.state:
        found &= Q(state=wanted.state)
    exact = {
        "severity": wanted.severity,
        "rule": wanted.rule,
        "tenant__uid": wanted.tenant,
    }
    return found & Q(**{name: value for name, value in exact.items() if value})


def alarm(scope: Scope, uid: str) -> Alarm | None:
    """None for an unknown one and for a foreign one alike."""
    return visible(scope).filter(uid=uid).first()


def silenced_until(alarm: Alarm, now: datetime) -> datetime | None:
    ends = Silence.objects.filter(
        fingerprint=alarm.fingerprint, starts_at__lte=now, ends_at__gt=now
    )
    return ends.order_by("-ends_at").values_list("ends_at", flat=True).first()


def first_alarm_at() -> datetime | None:
    """Since when alarms are kept; None before the first one."""
    found: datetime | None = Alarm.objects.aggregate(first=Min("first_at"))["first"]
    return found


def channels(organisation: Organisation | None) -> Sequence[Channel]:
    return list(Channel.objects.filter(organisation=organisation).select_related("secret"))


def recent_deliveries(channel: Channel, limit: int = 20) -> Sequence[Delivery]:
    """Newest first."""
    return list(channel.deliveries.select_related("alarm").order_by("-id")[:limit])
