"""The open alarms in the frame of every page: a count, and a line for each that is critical.

The line stays until the alarm is resolved; whoever took it on is named on it. A reader hears of a
critical alarm once, when it comes while a page is open. Source: 04 §5.0, 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from controlplane.accounts.scopes import Scope
from controlplane.alarms.models import Alarm, Severity
from controlplane.alarms.queries import open_alarms
from controlplane.alarms.rules import RULES, headline
from controlplane.ui.frame.shown_text import visible

LINES = 3


@dataclass(frozen=True, slots=True)
class CallRow:
    """is_new: it was not on the page that asks. owner: who took it on, "" for nobody.

    is_loss: the Overview's strip says it already, in the same red.
    """

    uid: str
    title: str
    href: str
    tenant: str
    owner: str
    is_new: bool
    is_loss: bool


@dataclass(frozen=True, slots=True)
class Bell:
    """known: what the page shows, for the next question. more: critical ones beyond the lines."""

    count: int
    critical: int
    lines: Sequence[CallRow]
    more: int
    known: str

    @property
    def tone(self) -> str:
        return "alarm" if self.critical else "watch"

    @property
    def words(self) -> str:
        if not self.count:
            return "No open alarms"
        noun = "alarm" if self.count == 1 else "alarms"
        return f"{self.count} open {noun}, {self.critical} critical"


def bell(scope: Scope, known: str | None = None) -> Bell:
    """known: what the page that asks shows already; None for a page that is being built."""
    found = open_alarms(scope)
    critical = [alarm for alarm in found if alarm.severity == Severity.CRITICAL]
    shown = None if known is None else set(known.split(","))
    return Bell(
        count=len(found),
        critical=len(critical),
        lines=[_line(alarm, shown) for alarm in critical[:LINES]],
        more=max(0, len(critical) - LINES),
        known=",".join(_mark(alarm) for alarm in critical),
    )


def _mark(alarm: Alarm) -> str:
    return f"{alarm.uid}.{alarm.state}.{alarm.count}"


def _line(alarm: Alarm, shown: set[str] | None) -> CallRow:
    is_shown = shown is None or any(mark.startswith(f"{alarm.uid}.") for mark in shown)
    return CallRow(
        uid=alarm.uid,
        title=visible(headline(alarm.rule, alarm.count, alarm.subject, alarm.node)),
        href=reverse("ui:alarm", args=[alarm.uid]),
        tenant=alarm.tenant.label if alarm.tenant else "",
        owner=alarm.acked_by.email
        if alarm.acked_by and alarm.state == Alarm.State.ACKNOWLEDGED
        else "",
        is_new=not is_shown,
        is_loss=alarm.rule in RULES and RULES[alarm.rule].is_loss,
    )
