"""The audit trail: read, proved, taken away as a file (04 §5.12, 6.3, 8.8)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field, StringConstraints

from controlplane.api import record_schemas as schemas
from controlplane.api.access import scope_of
from controlplane.api.documents import Paging
from controlplane.api.limits import CHECKS, EXPORTS
from controlplane.api.operations import operation
from controlplane.api.paging import Page, Slice
from controlplane.api.refusals import RefusedError
from controlplane.api.schemas import ms
from controlplane.api.sent import NO_CONTROL
from controlplane.audit import queries
from controlplane.audit.models import AuditEvent

router = Router(tags=["audit"])
READ = "audit:read"
LINES = "application/x-ndjson"
LARGEST_EXPORT = 100_000
LATEST_MS = 253_402_300_799_999  # the last moment of the year 9999
Word = Annotated[str, StringConstraints(max_length=200, pattern=NO_CONTROL)]
Moment = Annotated[int, Field(ge=0, le=LATEST_MS)]
AS_LINES = {"responses": {200: {"content": {LINES: {"schema": {"type": "string"}}}}}}


class TrailFilters(BaseModel):
    """action: a name, or the beginning of one with "." behind. until is exclusive."""

    actor: Word = ""
    action: Word = ""
    object: Word = ""
    via: Word = ""
    q: Word = ""
    since: Moment | None = None
    until: Moment | None = None

    def filters(self) -> queries.Filters:
        return queries.Filters(
            actor=self.actor,
            action=self.action,
            subject=self.object,
            via=self.via,
            text=self.q,
            since=_moment(self.since),
            until=_moment(self.until),
        )


def _moment(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)


class PagedTrail(TrailFilters, Paging):
    pass


@operation(
    router, "GET", "/audit", scope=READ, tenancy="organisation", listed=True,
    response={200: Page[schemas.EventOut]},
)  # fmt: skip
def list_events(request: HttpRequest, wanted: Query[PagedTrail]) -> dict[str, Any]:
    """What was changed in the organisations of the caller, newest first."""
    rows = queries.matching(scope_of(request).trail(), wanted.filters())
    found = Slice(rows, limit=wanted.limit, cursor=wanted.cursor)
    return {"items": [_event(row) for row in found.rows], **found.cursors}


@operation(
    router, "GET", "/audit/verify", scope=READ, tenancy="organisation", rate=CHECKS,
    response={200: schemas.ChainOut},
)  # fmt: skip
def verify_trail(request: HttpRequest) -> schemas.ChainOut:
    """Walk the chain of the whole deployment from its first event to its newest."""
    found = queries.verify()
    return schemas.ChainOut(
        is_whole=found.broken_at is None,
        events=found.events,
        first_hash=found.first_hash,
        last_hash=found.last_hash,
        broken_at=found.broken_at,
        problem=found.problem,
    )


@operation(
    router, "GET", "/audit/export", scope=READ, tenancy="organisation", rate=EXPORTS,
    response={200: None}, openapi=AS_LINES,
)  # fmt: skip
def export_trail(request: HttpRequest, wanted: Query[TrailFilters]) -> HttpResponse:
    """The same as lines of JSON, the oldest first, each with its hash and the one before."""
    rows = queries.matching(scope_of(request).trail(), wanted.filters()).order_by("seq")
    if rows.count() > LARGEST_EXPORT:
        detail = f"More than {LARGEST_EXPORT} events. Narrow it with since and until."
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "export.too_large", detail)
    response = HttpResponse(b"".join(_lines(rows.iterator())), content_type=LINES)
    response.headers["Content-Disposition"] = 'attachment; filename="audit.ndjson"'
    return response


def _lines(rows: Iterable[AuditEvent]) -> Iterable[bytes]:
    for row in rows:
        yield json.dumps(_event(row), ensure_ascii=False, sort_keys=True).encode() + b"\n"


def _event(row: AuditEvent) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "seq": row.seq,
        "at": ms(row.at),
        "organisation": row.organisation_uid,
        "actor_kind": row.actor_kind,
        "actor_uid": row.actor_uid,
        "actor": row.actor_label,
        "via": row.via,
        "ip": row.ip,
        "request_id": row.request_id,
        "action": row.action,
        "object_uid": row.object_uid,
        "object": row.object_label,
        "before": row.before,
        "after": row.after,
        "reason": row.reason,
        "prev_hash": row.prev_hash,
        "hash": row.hash,
    }
