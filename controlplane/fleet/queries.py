"""What is published, and how far the nodes got with it (03 §9.2, 9.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from controlplane.fleet import presence
from controlplane.fleet.models import ChangeLog, NodeAck, PublishedResource
from controlplane.fleet.published import as_resource
from controlplane.fleet.spreading import spread, until_served
from dataplane.core import resource


class Named(Protocol):
    """A tenant, as far as the fleet knows one."""

    @property
    def uid(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """How the newest published version of a tenant fares.

    version: of the published resource, 0 when nothing is published. problems: the objects of
    a nack (04 §2.4). serving: the version the refusing node still answers with. nodes: how
    many answered. waiting: ids of those that have not. apart: of those that serve their own bundle.
    """

    status: Literal["ack", "nack", "pending"]
    version: int
    problems: Sequence[dict[str, Any]] = ()
    serving: int | None = None
    answered_at: datetime | None = None
    nodes: int = 0
    waiting: Sequence[str] = ()
    apart: Sequence[str] = ()


def acknowledgement(tenant: Named, *, waits: bool = False) -> Acknowledgement:
    """One refusing node makes it a nack, one that has not answered makes it pending.

    waits: for those, a moment; call it after the commit. Processes that have ended have no say.
    """
    published = PublishedResource.objects.filter(type=resource.TENANT, name=tenant.uid).first()
    if published is None:
        return Acknowledgement("pending", 0)
    found = until_served([published]) if waits else spread([published], presence.heard())
    answers = _answers_to(published)
    refused = [answer for answer in answers if answer.status == NodeAck.Status.NACK]
    is_pending = bool(found.waiting) or not answers
    telling = (refused or answers)[-1] if answers else None
    return Acknowledgement(
        status="nack" if refused else "pending" if is_pending else "ack",
        version=published.version,
        problems=telling.errors if telling else (),
        serving=telling.serving_version if telling else None,
        answered_at=telling.answered_at if telling else None,
        nodes=len({answer.node_id for answer in answers}),
        waiting=found.waiting,
        apart=found.apart,
    )


def _answers_to(published: PublishedResource) -> list[NodeAck]:
    """To this version, by processes that may live, oldest first."""
    found = list(
        NodeAck.objects.filter(
            type=published.type,
            name=published.name,
            epoch=published.epoch,
            version=published.version,
        ).order_by("answered_at", "id")
    )
    living = presence.heard().of(found) if found else set()
    return [answer for answer in found if answer.process in living]


def changes_since(cursor: int | None) -> resource.Discovery:
    """Everything newer than the cursor, oldest first; all of it when the cursor is unknown.

    A resource never goes away: a tenant that is gone is published as such (its status).
    """
    log = ChangeLog.objects.filter(id=1).first()
    head = log.sequence if log else 0
    resync = cursor is None or cursor > head
    newer = PublishedResource.objects.filter(
        sequence__gt=0 if resync else cursor, sequence__lte=head
    ).order_by("sequence")
    changes = [
        resource.Change(row.type, row.name, row.epoch, row.version, row.hash)
        for row in newer.defer("body")
    ]
    return resource.Discovery(cursor=head, changes=changes, resync=resync)


def published(type_: str, name: str) -> resource.Resource | None:
    """The newest version of one resource, as a node receives it."""
    row = PublishedResource.objects.filter(type=type_, name=name).first()
    return as_resource(row) if row else None
