"""What is published, and how far the nodes got with it (03 sections 9.2, 9.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from controlplane.fleet.models import ChangeLog, NodeAck, PublishedResource
from dataplane.core.config import resource


class Named(Protocol):
    """A tenant, as far as the fleet knows one."""

    @property
    def uid(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """How the newest published version of a tenant fares.

    version: of the published resource, 0 when nothing is published. problems: the objects of
    a nack (04 section 2.4). serving: the version the refusing node still answers with.
    """

    status: Literal["ack", "nack", "pending"]
    version: int
    problems: Sequence[dict[str, Any]] = ()
    serving: int | None = None
    answered_at: datetime | None = None
    nodes: int = 0


def acknowledgement(tenant: Named) -> Acknowledgement:
    """One refusing node makes it a nack, no answer yet makes it pending."""
    published = PublishedResource.objects.filter(type=resource.TENANT, name=tenant.uid).first()
    if published is None:
        return Acknowledgement("pending", 0)
    answers = list(
        NodeAck.objects.filter(
            type=published.type,
            name=published.name,
            epoch=published.epoch,
            version=published.version,
        ).order_by("answered_at", "id")
    )
    if not answers:
        return Acknowledgement("pending", published.version)
    refused = [answer for answer in answers if answer.status == NodeAck.Status.NACK]
    telling = (refused or answers)[-1]
    return Acknowledgement(
        status="nack" if refused else "ack",
        version=published.version,
        problems=telling.errors,
        serving=telling.serving_version,
        answered_at=telling.answered_at,
        nodes=len(answers),
    )


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


def all_published() -> list[resource.Resource]:
    return [as_resource(row) for row in PublishedResource.objects.order_by("sequence")]


def as_resource(row: PublishedResource) -> resource.Resource:
    envelope = resource.Envelope(
        type=row.type,
        name=row.name,
        epoch=row.epoch,
        version=row.version,
        hash=row.hash,
        issued_at=int(row.published_at.timestamp() * 1000),
        published_by=row.published_by,
    )
    return resource.Resource(envelope, bytes(row.body))
