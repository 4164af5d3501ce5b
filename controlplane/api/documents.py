"""Documents, their versions and drafts (04 §6.3)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status
from pydantic import BaseModel, Field

from controlplane.api import schemas, shown
from controlplane.api.access import plain, readable, scope_of, writable
from controlplane.api.conditions import based_on, is_unchanged, quoted
from controlplane.api.operations import operation
from controlplane.api.paging import LARGEST, PAGE, Page, Slice
from controlplane.api.refusals import not_found
from controlplane.configs import drafts, visible
from controlplane.configs.actions import follow_default, save_version
from controlplane.configs.checking import checked_as
from controlplane.configs.form_fields import edited, form_of
from controlplane.configs.models import ConfigDocument, ConfigVersion
from controlplane.configs.plans import etag_of
from controlplane.configs.problems import StateError
from controlplane.configs.queries import lost_race

router = Router(tags=["documents"])
READ, WRITE = "config:read", "config:write"
IMMUTABLE = "private, max-age=31536000, immutable"


class Paging(BaseModel):
    limit: int = Field(PAGE, ge=1, le=LARGEST)
    cursor: str | None = Field(None, max_length=500)


class DocumentFilters(Paging):
    kind: ConfigDocument.Kind | None = None


@operation(
    router, "GET", "/documents", scope=READ, tenancy="organisation", listed=True,
    response={200: Page[schemas.DocumentOut]},
)  # fmt: skip
def list_documents(request: HttpRequest, filters: Query[DocumentFilters]) -> dict[str, Any]:
    """Every document that the caller may read, the newest first."""
    rows = visible.documents(scope_of(request)).select_related(
        "head__author", "head__author_token", "head__parent",
        "promoted__author", "promoted__author_token", "promoted__parent",
    )  # fmt: skip
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    found = Slice(rows, limit=filters.limit, cursor=filters.cursor)
    return {"items": [shown.document(request, row) for row in found.rows], **found.cursors}


@operation(
    router, "GET", "/documents/{uid}", scope=READ, tenancy="organisation", cached=True,
    response={200: schemas.DocumentOut},
)  # fmt: skip
def get_document(request: HttpRequest, uid: str, response: HttpResponse) -> Any:
    """A document; its ETag is what a save has to name."""
    found = readable(request, uid)
    response.headers["ETag"] = quoted(etag_of(found))
    if is_unchanged(request, etag_of(found)):
        return Status(304, None)
    return shown.document(request, found)


@operation(
    router, "GET", "/documents/{uid}/versions", scope=READ, tenancy="organisation", listed=True,
    response={200: Page[schemas.VersionOut]},
)  # fmt: skip
def list_versions(request: HttpRequest, uid: str, paging: Query[Paging]) -> dict[str, Any]:
    """The history of a document, newest first, without the texts."""
    document = readable(request, uid)
    rows = ConfigVersion.objects.filter(document=document).select_related(
        "author", "author_token", "parent"
    )
    found = Slice(rows.defer("source", "canonical"), limit=paging.limit, cursor=paging.cursor)
    for row in found.rows:
        row.document = document
    return {"items": [shown.version(row) for row in found.rows], **found.cursors}


@operation(
    router, "GET", "/versions/{uid}", scope=READ, tenancy="organisation", cached=True,
    response={200: schemas.VersionText},
    openapi={"responses": {200: {"content": {"text/yaml": {"schema": {"type": "string"}}}}}},
)  # fmt: skip
def get_version(request: HttpRequest, uid: str, response: HttpResponse) -> Any:
    """One saved state for ever; `Accept: text/yaml` gives the author's exact text alone."""
    found = visible.versions(scope_of(request)).filter(uid=plain(uid)).first()
    if found is None:
        raise not_found()
    headers = {"ETag": quoted(found.etag), "Cache-Control": IMMUTABLE, "Vary": "Accept"}
    if "text/yaml" in request.headers.get("accept", ""):
        return HttpResponse(found.source, content_type="text/yaml; charset=utf-8", headers=headers)
    for name, value in headers.items():
        response.headers[name] = value
    if is_unchanged(request, found.etag):
        return Status(304, None)
    return shown.version_text(found)


@operation(
    router, "POST", "/documents/{uid}/versions", scope=WRITE, tenancy="organisation",
    conditional=True, response={200: schemas.Saved, 201: schemas.Saved},
)  # fmt: skip
def save(request: HttpRequest, uid: str, body: schemas.NewVersion, response: HttpResponse) -> Any:
    """Save a text as the next version; in force at once, except a preset's."""
    document = writable(request, uid)
    return _save(request, document, body.source_yaml, body.message, response)


@operation(
    router, "POST", "/documents/{uid}/form", scope=WRITE, tenancy="organisation",
    conditional=True, response={200: schemas.Saved, 201: schemas.Saved},
)  # fmt: skip
def save_form(request: HttpRequest, uid: str, body: schemas.Form, response: HttpResponse) -> Any:
    """Change single keys of the newest text; comments, order and all other bytes stay."""
    document = writable(request, uid)
    source = edited(_newest(document), body.fields, body.pipeline)
    return _save(request, document, source, body.message, response)


def _save(
    request: HttpRequest,
    document: ConfigDocument,
    source: str,
    message: str,
    response: HttpResponse,
) -> Any:
    before = document.head
    number = based_on(request, document)
    version = save_version(
        document,
        source,
        message,
        scope_of(request).principal,
        based_on=number,
        origin=ConfigVersion.Origin.API,
    )
    response.headers["ETag"] = quoted(version.etag)
    return _answer(request, version, unchanged=version == before)


def _newest(document: ConfigDocument) -> str:
    return document.head.source if document.head else ""


def _answer(request: HttpRequest, version: ConfigVersion, *, unchanged: bool) -> Any:
    is_dry = request.GET.get("dry_run", "").lower() in ("true", "1")
    body = shown.saved(version, unchanged=unchanged, is_dry=is_dry)
    return Status(200 if unchanged else 201, body)


@operation(
    router, "POST", "/documents/{uid}/follow-default", scope=WRITE, tenancy="organisation",
    conditional=True, response={200: schemas.Saved, 201: schemas.Saved},
)  # fmt: skip
def follow(request: HttpRequest, uid: str, body: schemas.Reason, response: HttpResponse) -> Any:
    """Have no text of its own any more; numbering goes on."""
    document = writable(request, uid)
    before, number = document.head, based_on(request, document)
    kinds = (ConfigDocument.Kind.TENANT, ConfigDocument.Kind.ORG_DEFAULT)
    if before is None or document.kind not in kinds:
        raise StateError("This document has no text of its own to give up.")
    principal, origin = scope_of(request).principal, ConfigVersion.Origin.API
    version = follow_default(document, body.message, principal, based_on=number, origin=origin)
    found = version or before
    response.headers["ETag"] = quoted(found.etag)
    return _answer(request, found, unchanged=found == before)


@operation(
    router, "POST", "/documents/{uid}/merge", scope=WRITE, tenancy="organisation",
    response={200: schemas.MergeOut},
)  # fmt: skip
def merge(request: HttpRequest, uid: str, body: schemas.Mine) -> schemas.MergeOut:
    """Three ways after a lost race: the caller's text, the newest, and what both began with."""
    document = writable(request, uid)
    found = lost_race(document, body.base, body.source_yaml)
    hunks = [
        schemas.HunkOut(
            outcome=hunk.outcome,
            base=list(hunk.base),
            theirs=list(hunk.theirs),
            mine=list(hunk.mine),
        )
        for hunk in found.hunks
    ]
    return schemas.MergeOut(
        hunks=hunks, source_yaml=found.text, conflicts=found.conflicts, etag=etag_of(document)
    )


@operation(
    router, "GET", "/documents/{uid}/form", scope=READ, tenancy="organisation",
    response={200: schemas.FormOut},
)  # fmt: skip
def get_form(request: HttpRequest, uid: str) -> dict[str, Any]:
    """Every key there is, drawn from the registry, with what the newest text says of it."""
    document = readable(request, uid)
    source = _newest(document)
    principal = scope_of(request).principal
    effective = checked_as(document, source, principal).effective if source else None
    is_preset = document.kind == ConfigDocument.Kind.PRESET
    return {"groups": shown.as_rows(form_of(source, effective, is_preset=is_preset))}


@operation(
    router, "GET", "/documents/{uid}/draft", scope=WRITE, tenancy="self",
    response={200: schemas.DraftOut},
)  # fmt: skip
def get_draft(request: HttpRequest, uid: str) -> schemas.DraftOut:
    """The caller's own unsaved text."""
    return _draft(request, writable(request, uid))


@operation(
    router, "PUT", "/documents/{uid}/draft", scope=WRITE, tenancy="self",
    response={200: schemas.DraftOut},
)  # fmt: skip
def put_draft(request: HttpRequest, uid: str, body: schemas.NewDraft) -> schemas.DraftOut:
    """Keep an unsaved text, which may be invalid but holds no credential."""
    document = writable(request, uid)
    drafts.keep_draft(document, _person(request), body.source_yaml, base=body.base)
    return _draft(request, document)


@operation(
    router, "DELETE", "/documents/{uid}/draft", scope=WRITE, tenancy="self",
    response={204: None},
)  # fmt: skip
def delete_draft(request: HttpRequest, uid: str) -> Any:
    """Throw the caller's unsaved text away; without one nothing happens."""
    drafts.drop_draft(writable(request, uid), _person(request))
    return Status(204, None)


def _person(request: HttpRequest) -> Any:
    principal = scope_of(request).principal
    assert principal is not None  # noqa: S101  Access has turned nobody away
    return principal.user


def _draft(request: HttpRequest, document: ConfigDocument) -> schemas.DraftOut:
    user = _person(request)
    found = drafts.draft_of(document, user)
    if found is None:
        raise not_found()
    return schemas.DraftOut(
        document=document.uid,
        source_yaml=found.source,
        base=found.base,
        updated_at=schemas.ms(found.updated_at),
        others=[other.email for other in drafts.others_drafting(document, user)],
    )
