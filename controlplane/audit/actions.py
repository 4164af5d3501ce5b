"""Append to the trail, in the transaction of the change it tells of (04 §8.8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import transaction

from controlplane.audit import chain
from controlplane.audit.models import LONGEST_ACTOR, LONGEST_OBJECT, AuditEvent, TrailHead
from controlplane.audit.origin import current

SYSTEM = "system"


class Actor(Protocol):
    """Who changed something: a person or a token, as far as the trail is concerned."""

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


@transaction.atomic
def record(
    action: str,
    subject: Subject,
    by: Actor | None,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
) -> AuditEvent:
    """One appended event; `by` None is the product itself (a command, a migration).

    Names are copied as far as their columns reach.
    """
    head = TrailHead.objects.select_for_update().get_or_create(id=1)[0]
    origin = current()
    actor_uid = by.actor_uid if by else ""
    event = AuditEvent(
        seq=head.seq + 1,
        action=action,
        actor_kind=chain.actor_kind(actor_uid),
        actor_uid=actor_uid,
        actor_label=(by.actor_label if by else SYSTEM)[:LONGEST_ACTOR],
        via=origin.via,
        ip=origin.ip,
        request_id=origin.request_id,
        object_uid=subject.uid,
        object_label=subject.label[:LONGEST_OBJECT],
        organisation_uid=subject.organisation,
        before=_as_stored(before),
        after=_as_stored(after),
        reason=reason,
        prev_hash=head.hash,
    )
    event.hash = head.hash = chain.hash_of(event, event.prev_hash)
    head.seq = event.seq
    event.save(force_insert=True)
    head.save(update_fields=["seq", "hash"])
    return event


def _as_stored(fields: Mapping[str, Any] | None) -> Any:
    """As the database gives it back: lists for tuples, texts for the keys of a mapping."""
    return None if fields is None else json.loads(json.dumps(dict(fields)))
