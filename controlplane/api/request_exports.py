"""Request records taken away as a file, sent while it is read (04 §5.0, 6.3)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import Annotated, Any, Literal

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field, StringConstraints

from controlplane.api.access import scope_of, tenant_named
from controlplane.api.limits import EXPORTS
from controlplane.api.operations import operation
from controlplane.api.refusals import RefusedError, not_found
from controlplane.api.sent import NO_CONTROL
from controlplane.telemetry.exporting import export_of
from controlplane.telemetry.queries import RequestFilter
from controlplane.telemetry.queries.export import MAY

router = Router(tags=["requests"])
MEDIA = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8; header=present"}
LATEST_MS = 253_402_300_799_999  # the last moment of the year 9999
TEXT = {"schema": {"type": "string"}}
AS_FILE = {
    "responses": {200: {"content": {kind.partition(";")[0]: TEXT for kind in MEDIA.values()}}}
}
Word = Annotated[str, StringConstraints(max_length=128, pattern=NO_CONTROL)]
Moment = Annotated[int, Field(ge=0, le=LATEST_MS)]


class Wanted(BaseModel):
    """The filters of the page Requests. since inclusive, until exclusive, ms. lost: an original
    could not be given back. tenant: uid or slug. request: its `x-context-guru-request-id`.
    """

    format: Literal["ndjson", "csv"] = "ndjson"
    tenant: Word = ""
    request: Word = ""
    session: Word = ""
    model: Word = ""
    provider: Word = ""
    arm: Word = ""
    outcome: Word = ""
    bypassed: Word = ""
    accounting: Word = ""
    component: Word = ""
    gate: Word = ""
    event: Word = ""
    lost: bool = False
    since: Moment | None = None
    until: Moment | None = None


@operation(
    router, "GET", "/requests/export", scope=MAY, tenancy="organisation", rate=EXPORTS,
    response={200: None}, openapi=AS_FILE, errors=(409, 503),
)  # fmt: skip
def export_requests(request: HttpRequest, wanted: Query[Wanted]) -> StreamingHttpResponse:
    """The records of finished requests, the newest first, as lines of JSON or as CSV."""
    scope, asked = scope_of(request), wanted.model_dump()
    form = asked.pop("format")
    if wanted.tenant:
        tenant = tenant_named(scope, wanted.tenant, MAY)
        if tenant is None:
            raise not_found()
        asked["tenant"] = tenant.uid
    pieces = _begun(export_of(scope, RequestFilter(**asked), form).pieces())
    body: Any = _beside_the_loop(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(body, content_type=MEDIA[form])
    response.headers["Content-Disposition"] = f'attachment; filename="requests.{form}"'
    return response


def _begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The first piece is read before anything is answered: a failure then still has a name."""
    try:
        first = next(pieces, b"")
    except DatabaseError as problem:
        detail = "The telemetry database cannot be read now. Traffic does not depend on it."
        status = HTTPStatus.SERVICE_UNAVAILABLE
        raise RefusedError(status, "telemetry.unreadable", detail) from problem
    return chain((first,), pieces)


async def _beside_the_loop(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Django would gather a plain iterator whole before it sends the first byte."""
    following = sync_to_async(partial(next, pieces, b""))
    while piece := await following():
        yield piece
