"""Append to the trail, in the transaction of the change it tells of (04 section 8.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from controlplane.audit.models import AuditEvent

SYSTEM = "system"


class Actor(Protocol):
    """Who changed something; a user, as far as the trail is concerned."""

    @property
    def actor_uid(self) -> str: ...

    @property
    def actor_label(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """What was changed. organisation: its uid, "" for the deployment."""

    uid: str
    label: str
    organisation: str = ""


def record(
    action: str,
    subject: Subject,
    by: Actor | None,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> AuditEvent:
    """One appended event; `by` None is the product itself (a command, a migration)."""
    return AuditEvent.objects.create(
        action=action,
        actor_uid=by.actor_uid if by else "",
        actor_label=by.actor_label if by else SYSTEM,
        object_uid=subject.uid,
        object_label=subject.label,
        organisation_uid=subject.organisation,
        before=before,
        after=after,
    )
