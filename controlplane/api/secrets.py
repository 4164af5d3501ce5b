"""Secrets that the product holds: written, replaced, removed, never read (04 §6.3, 8.5)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Status

from controlplane.accounts import vault
from controlplane.accounts.models import Secret
from controlplane.accounts.scopes import Scope
from controlplane.api import account_schemas as schemas
from controlplane.api import shown_accounts as shown
from controlplane.api.access import deployment, organisation_of, plain, scope_of, tenant_of
from controlplane.api.operations import operation
from controlplane.api.refusals import not_found

router = Router(tags=["secrets"])
WRITE = vault.WRITE


@operation(
    router, "GET", "/secrets", scope=WRITE, tenancy="organisation",
    response={200: schemas.SecretsOut},
)  # fmt: skip
def list_secrets(request: HttpRequest) -> dict[str, Any]:
    """What the deployment, the organisations and the tenants in reach hold; never a value."""
    return {"items": [_shown(owner) for owner in _reached(scope_of(request))]}


def _reached(scope: Scope) -> list[Secret]:
    rows = Secret.objects.select_related("organisation", "tenant__organisation", "updated_by")
    return [row for row in rows.prefetch_related("upstreams") if vault.may_write(scope, row)]


def _shown(secret: Secret) -> schemas.SecretOut:
    return shown.secret(vault.row_of(secret), secret.scope)


@operation(
    router, "POST", "/secrets", scope=WRITE, tenancy="organisation",
    response={201: schemas.SecretOut},
)  # fmt: skip
def add_secret(request: HttpRequest, body: schemas.NewSecret) -> Any:
    """Keep a value under a name, in place of an earlier one of its owner."""
    owner = _owner(request, body.owner)
    by = scope_of(request).principal
    return Status(
        201, _shown(vault.put_secret(owner, body.name, body.value, kind=body.kind, by=by))
    )


def _owner(request: HttpRequest, uid: str) -> vault.Owner:
    if not uid:
        deployment(request, WRITE)
        return None
    if uid.startswith("ten_"):
        return tenant_of(request, uid, WRITE)
    return organisation_of(request, uid, WRITE)


@operation(
    router, "PUT", "/secrets/{uid}", scope=WRITE, tenancy="organisation",
    response={200: schemas.SecretOut},
)  # fmt: skip
def replace_secret(request: HttpRequest, uid: str, body: schemas.SecretValue) -> schemas.SecretOut:
    """The next request uses the new value."""
    found = _secret(request, uid)
    owner, by = found.tenant or found.organisation, scope_of(request).principal
    return _shown(vault.put_secret(owner, found.name, body.value, kind=found.kind, by=by))


@operation(
    router, "DELETE", "/secrets/{uid}", scope=WRITE, tenancy="organisation", response={204: None}
)  # fmt: skip
def end_secret(request: HttpRequest, uid: str) -> Any:
    """Gone for good; refused while an upstream uses it."""
    vault.remove_secret(_secret(request, uid), scope_of(request).principal)
    return Status(204, None)


def _secret(request: HttpRequest, uid: str) -> Secret:
    rows = Secret.objects.select_related("organisation", "tenant__organisation")
    found = rows.filter(uid=plain(uid)).first()
    if found is None or not vault.may_write(scope_of(request), found):
        raise not_found()
    return found
