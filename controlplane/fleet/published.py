"""What is published, as nodes receive it."""

from __future__ import annotations

from controlplane.fleet.models import PublishedResource
from dataplane.core import resource


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
