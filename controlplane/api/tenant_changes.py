"""Tenants that begin, change, are turned away and come back (04 §6.3)."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Status

from controlplane.accounts.actions import (
    change_tenant,
    choose_upstream,
    create_tenant,
    set_disabled,
)
from controlplane.accounts.models import Tenant
from controlplane.api import account_schemas, schemas, shown
from controlplane.api.access import organisation_of, scope_of, tenant_of
from controlplane.api.operations import operation
from controlplane.api.refusals import invalid
from controlplane.api.tenants import router

__all__ = ["router"]  # of one path, all methods belong to one router

WRITE = "tenant:write"


@operation(
    router, "POST", "/tenants", scope=WRITE, tenancy="organisation",
    response={201: schemas.TenantOut},
)  # fmt: skip
def add_tenant(
    request: HttpRequest, body: account_schemas.NewTenant, response: HttpResponse
) -> Any:
    """A tenant that follows the default of its organisation."""
    if not body.organisation:
        raise invalid("/organisation", "Name the organisation that gets the tenant.")
    organisation = organisation_of(request, body.organisation, WRITE)
    by = scope_of(request).principal
    made = create_tenant(organisation, slug=body.slug, label=body.label, by=by)
    response.headers["Location"] = f"/api/v1/tenants/{made.uid}"
    return Status(201, _shown(made))


@operation(
    router, "PATCH", "/tenants/{uid}", scope=WRITE, tenancy="tenant",
    response={200: schemas.TenantOut},
)  # fmt: skip
def patch_tenant(
    request: HttpRequest, uid: str, body: account_schemas.TenantChange
) -> schemas.TenantOut:
    """Its label and its limits; what is left out stays."""
    found = tenant_of(request, uid, WRITE)
    return _shown(change_tenant(found, **body.model_dump(), by=scope_of(request).principal))


@operation(
    router, "PUT", "/tenants/{uid}/upstreams", scope=WRITE, tenancy="tenant",
    response={200: schemas.TenantOut},
)  # fmt: skip
def put_upstreams(
    request: HttpRequest, uid: str, body: account_schemas.Upstreams
) -> schemas.TenantOut:
    """Where the requests of each dialect go; a dialect that is left out stays."""
    found = tenant_of(request, uid, WRITE)
    with transaction.atomic():
        for dialect, name in body.model_dump().items():
            if name is not None:
                choose_upstream(found, dialect, name, scope_of(request).principal)
    return _shown(found)


@operation(
    router, "POST", "/tenants/{uid}/disable", scope=WRITE, tenancy="tenant",
    response={200: schemas.TenantOut},
)  # fmt: skip
def disable_tenant(
    request: HttpRequest, uid: str, body: account_schemas.Disable
) -> schemas.TenantOut:
    """Its traffic gets 403 with the reason from the next request on."""
    found = tenant_of(request, uid, WRITE)
    return _shown(set_disabled(found, reason=body.reason, by=scope_of(request).principal))


@operation(
    router, "POST", "/tenants/{uid}/enable", scope=WRITE, tenancy="tenant",
    response={200: schemas.TenantOut},
)  # fmt: skip
def enable_tenant(request: HttpRequest, uid: str) -> schemas.TenantOut:
    """Its traffic passes again."""
    found = tenant_of(request, uid, WRITE)
    return _shown(set_disabled(found, reason="", by=scope_of(request).principal))


def _shown(tenant: Tenant) -> schemas.TenantOut:
    rows = Tenant.objects.select_related("organisation", "document__promoted")
    return shown.tenant(rows.prefetch_related("upstreams__upstream").get(pk=tenant.pk))
