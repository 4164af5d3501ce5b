"""What opens the data plane: a tenant's keys, and agents' keys bound to it (04 §6.3)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Status

from controlplane.accounts.actions import issue_key, revoke_key, rotate_key
from controlplane.accounts.agent_keys import bind_agent_key, unbind_agent_key
from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey
from controlplane.accounts.queries import agent_keys_of, keys_of
from controlplane.api import account_schemas as schemas
from controlplane.api import shown_accounts as shown
from controlplane.api.access import plain, scope_of, tenant_of
from controlplane.api.operations import operation
from controlplane.api.refusals import not_found

router = Router(tags=["keys"])
WRITE = "key:write"
KEYS, AGENT_KEYS = "/tenants/{uid}/keys", "/tenants/{uid}/agent-keys"


@operation(
    router, "GET", KEYS, scope=WRITE, tenancy="tenant", response={200: schemas.KeysOut}
)  # fmt: skip
def list_keys(request: HttpRequest, uid: str) -> dict[str, Any]:
    """Live keys first, then revoked and expired ones."""
    return {"items": shown.keys(keys_of(tenant_of(request, uid, WRITE)))}


@operation(
    router, "POST", KEYS, scope=WRITE, tenancy="tenant", once="key",
    response={201: schemas.KeyText},
)  # fmt: skip
def add_key(request: HttpRequest, uid: str, body: schemas.NewKey) -> Any:
    """A key that works from the next request on. Its text is shown once."""
    tenant = tenant_of(request, uid, WRITE)
    ends = timezone.now() + timedelta(days=body.days) if body.days else None
    by = scope_of(request).principal
    made, text = issue_key(tenant, body.label, by, kind=body.kind, expires_at=ends)
    return Status(201, {**shown.key(made), "key": text})


@operation(
    router, "POST", f"{KEYS}/{{key}}/rotate", scope=WRITE, tenancy="tenant", once="key",
    response={201: schemas.KeyText},
)  # fmt: skip
def replace_key(request: HttpRequest, uid: str, key: str, body: schemas.Rotation) -> Any:
    """A key that takes over; the old one works on for the overlap."""
    found = _key(request, uid, key)
    overlap = timedelta(hours=body.overlap_h)
    made, text = rotate_key(found, scope_of(request).principal, overlap=overlap)
    return Status(201, {**shown.key(made), "key": text})


@operation(
    router, "DELETE", f"{KEYS}/{{key}}", scope=WRITE, tenancy="tenant",
    response={200: schemas.KeyOut},
)  # fmt: skip
def end_key(request: HttpRequest, uid: str, key: str) -> dict[str, Any]:
    """Revoked, not deleted: the trail and the figures go on naming it."""
    return shown.key(revoke_key(_key(request, uid, key), scope_of(request).principal))


def _key(request: HttpRequest, uid: str, key: str) -> DataPlaneKey:
    tenant = tenant_of(request, uid, WRITE)
    rows = DataPlaneKey.objects.select_related("tenant__organisation")
    found = rows.filter(tenant=tenant, uid=plain(key)).first()
    if found is None:
        raise not_found()
    return found


@operation(
    router, "GET", AGENT_KEYS, scope=WRITE, tenancy="tenant",
    response={200: schemas.AgentKeysOut},
)  # fmt: skip
def list_agent_keys(request: HttpRequest, uid: str) -> dict[str, Any]:
    """Provider keys of agents that stand for the tenant."""
    rows = agent_keys_of(tenant_of(request, uid, WRITE))
    return {"items": shown.agent_keys(rows)}


@operation(
    router, "POST", AGENT_KEYS, scope=WRITE, tenancy="tenant",
    response={201: schemas.AgentKeyOut},
)  # fmt: skip
def add_agent_key(request: HttpRequest, uid: str, body: schemas.NewAgentKey) -> Any:
    """For agents that can send no header of ours. Bound elsewhere, it is refused, not moved."""
    tenant = tenant_of(request, uid, WRITE)
    by = scope_of(request).principal
    return Status(201, shown.agent_key(bind_agent_key(tenant, body.agent_key, body.label, by)))


@operation(
    router, "DELETE", f"{AGENT_KEYS}/{{binding}}", scope=WRITE, tenancy="tenant",
    response={204: None},
)  # fmt: skip
def end_agent_key(request: HttpRequest, uid: str, binding: str) -> Any:
    """It stands for nobody from the next request on."""
    tenant = tenant_of(request, uid, WRITE)
    rows = AgentKeyBinding.objects.select_related("tenant__organisation")
    found = rows.filter(tenant=tenant, uid=plain(binding)).first()
    if found is None:
        raise not_found()
    unbind_agent_key(found, scope_of(request).principal)
    return Status(204, None)
