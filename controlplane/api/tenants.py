"""Tenants to read: themselves, what they run, what they ran (04 §6.3)."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from controlplane.accounts.models import Tenant
from controlplane.api import schemas, shown
from controlplane.api.access import scope_of, tenant_named
from controlplane.api.documents import Paging
from controlplane.api.operations import YAML, operation
from controlplane.api.paging import Page, Slice
from controlplane.api.refusals import not_found
from controlplane.configs import visible
from controlplane.configs.comparing import effective_of
from controlplane.configs.effective_rows import effective_rows, effective_view
from controlplane.configs.effective_text import as_yaml
from controlplane.configs.models import EffectiveRevision
from controlplane.fleet import running

router = Router(tags=["tenants"])
READ, SEEN = "config:read", "telemetry:read"
# Readers of a description parse the text, so what it says is what the text holds.
YAML_TOO = {"responses": {200: {"content": {YAML: {"schema": {"type": "object"}}}}}}


@operation(
    router, "GET", "/tenants", scope=SEEN, tenancy="organisation", listed=True,
    response={200: Page[schemas.TenantOut]},
)  # fmt: skip
def list_tenants(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """The tenants that the caller may see, the newest first."""
    rows = scope_of(request).tenants(SEEN).select_related("document__promoted")
    found = Slice(
        rows.prefetch_related("upstreams__upstream"), limit=paging.limit, cursor=paging.cursor
    )
    return {"items": [shown.tenant(row) for row in found.rows], **found.cursors}


@operation(
    router, "GET", "/tenants/{uid}", scope=SEEN, tenancy="tenant",
    response={200: schemas.TenantOut},
)  # fmt: skip
def get_tenant(request: HttpRequest, uid: str) -> schemas.TenantOut:
    """One tenant, by uid or slug."""
    return shown.tenant(_tenant(request, uid, SEEN))


class Wanted(BaseModel):
    """revision: its number; the current one when absent."""

    revision: int | None = Field(None, ge=1, le=2**31 - 1)
    format: Literal["json", "yaml"] = "json"


@operation(
    router, "GET", "/tenants/{uid}/effective", scope=READ, tenancy="tenant",
    response={200: schemas.TenantEffective}, openapi=YAML_TOO,
)  # fmt: skip
def get_effective(request: HttpRequest, uid: str, wanted: Query[Wanted]) -> Any:
    """What the tenant runs or ran, each value with where it comes from."""
    tenant = _tenant(request, uid, READ)
    revisions = EffectiveRevision.objects.filter(tenant=tenant)
    if wanted.revision is not None:
        revisions = revisions.filter(number=wanted.revision)
    found = revisions.first()
    if found is None:
        raise not_found()
    if wanted.format == "yaml":
        imposed = running.imposed() if wanted.revision is None else ()
        text = as_yaml(found.effective, found.origins, imposed)
        return HttpResponse(text, content_type="text/yaml; charset=utf-8")
    return _effective(tenant, found, is_current=wanted.revision is None)


def _effective(tenant: Tenant, found: EffectiveRevision, *, is_current: bool) -> dict[str, Any]:
    """Of the current one also what each value overrides, which is read anew."""
    view = effective_view(tenant) if is_current else None
    rows = view.rows if view else effective_rows(effective_of(found))
    return {
        "effective_hash": found.effective_hash,
        "document": found.effective,
        "rows": shown.as_rows(rows),
        "revision": shown.revision(found, tenant),
        "following": view.following if view else "",
    }


@operation(
    router, "GET", "/tenants/{uid}/revisions", scope=READ, tenancy="tenant", listed=True,
    response={200: Page[schemas.RevisionOut]},
)  # fmt: skip
def list_revisions(request: HttpRequest, uid: str, paging: Query[Paging]) -> dict[str, Any]:
    """What the tenant ran, newest first, with why each came."""
    tenant = _tenant(request, uid, READ)
    rows = visible.revisions(scope_of(request)).filter(tenant=tenant)
    found = Slice(rows.defer("effective", "origins"), limit=paging.limit, cursor=paging.cursor)
    return {"items": [shown.revision(row, tenant) for row in found.rows], **found.cursors}


def _tenant(request: HttpRequest, uid: str, permission: str) -> Tenant:
    found = tenant_named(scope_of(request), uid, permission)
    if found is None:
        raise not_found()
    return found
