"""What an evaluation saw, before it becomes an alarm: plain values from whoever observed it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One observation that a rule speaks about (04 §1.5, AlarmOccurrence); no content.

    rule: key of controlplane.alarms.rules. tenant: its uid, "" for the deployment. number: how
    often at once. subject: what else tells alarms of one rule apart, such as a resource or a
    database. severity: "" for the rule's own.
    """

    rule: str
    at: datetime
    tenant: str = ""
    node: str = ""
    subject: str = ""
    severity: str = ""
    number: int = 1
    session: str = ""
    turn: int | None = None
    request: str = ""
    marker: str = ""
    component: str = ""
    tokens: int | None = None
    cause: str = ""
    detail: str = ""

    @property
    def fingerprint(self) -> str:
        return "|".join((self.rule, self.tenant, self.node, self.subject))
