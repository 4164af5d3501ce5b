"""Events of the trail as rows ready to show: who, what, when, from where (04 §5.12)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from controlplane.accounts.models import Organisation
from controlplane.audit.actions import SYSTEM
from controlplane.audit.models import AuditEvent

NOTHING = "nothing"
HEADRACE = "Headrace"  # itself: a command, a key that expired
LONGEST = 200
SHOWN_AT_ONCE = 3
DIGEST = re.compile(r"(?:sha256:)?[0-9a-f]{40,}")
DIGEST_SHOWN = 16
VIA = {"ui": "pages", "api": "API", "system": "the product"}


@dataclass(frozen=True, slots=True)
class Change:
    """A field before and after; "" where the event does not say it."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class EventRow:
    seq: int
    at: datetime
    actor: str
    action: str
    subject: str
    subject_uid: str
    organisation: str
    via: str
    address: str
    request_id: str
    reason: str
    changes: tuple[Change, ...]
    more: tuple[Change, ...]


def event_rows(events: Iterable[AuditEvent]) -> list[EventRow]:
    found = list(events)
    uids = {event.organisation_uid for event in found}
    names = dict(Organisation.objects.filter(uid__in=uids).values_list("uid", "name"))
    return [_row(event, names) for event in found]


def _row(event: AuditEvent, names: Mapping[str, str]) -> EventRow:
    changed = changes(event.before, event.after)
    return EventRow(
        seq=event.seq,
        at=event.at,
        actor=HEADRACE if event.actor_label == SYSTEM else event.actor_label,
        action=event.action,
        subject=event.object_label,
        subject_uid=event.object_uid,
        organisation=names.get(event.organisation_uid, ""),
        via=VIA.get(event.via, event.via),
        address=event.ip,
        request_id=event.request_id,
        reason=event.reason,
        changes=changed[:SHOWN_AT_ONCE],
        more=changed[SHOWN_AT_ONCE:],
    )


def changes(before: object, after: object) -> tuple[Change, ...]:
    """Fields that differ; one that only one side names is shown with that side alone."""
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    return tuple(
        Change(str(name).replace("_", " "), _said(old, name), _said(new, name))
        for name in {**old, **new}
        if not (name in old and name in new and old[name] == new[name])
    )


def _said(fields: Mapping[str, object], name: str) -> str:
    return in_words(fields[name]) if name in fields else ""


def in_words(value: object) -> str:
    """As a reader would write it; long values are cut, the trail keeps them whole."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        text = ", ".join(value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if DIGEST.fullmatch(text):
        return f"{text[:DIGEST_SHOWN]}…"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
