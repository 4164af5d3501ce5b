"""Who is asking, and of what (04 §6.3)."""

from __future__ import annotations

from importlib.metadata import version

from django.http import HttpRequest
from ninja import Router

from controlplane.accounts.scopes import Scope
from controlplane.api import schemas
from controlplane.api.operations import operation
from controlplane.arrivals import scope_of_request
from dataplane.core.config.registry import SCHEMA_VERSION

router = Router(tags=["session"])


@operation(router, "GET", "/whoami", scope=None, tenancy="public", response={200: schemas.WhoAmI})
def whoami(request: HttpRequest) -> schemas.WhoAmI:
    """The caller, what it may do, and what this deployment is; nobody is an answer too."""
    scope = scope_of_request(request)
    principal = scope.principal
    user = principal.user if principal else None
    return schemas.WhoAmI(
        authenticated=principal is not None,
        user=schemas.Person(uid=user.uid, email=user.email, display_name=user.display_name)
        if user
        else None,
        token=principal.token.name if principal and principal.token else None,
        memberships=_memberships(scope),
        permissions=sorted({name for grant in scope.grants for name in grant.permissions}),
        deployment=schemas.DeploymentOut(
            profile="embedded",
            version=version("headrace"),
            schema_version=SCHEMA_VERSION,
            registration="invitation",
        ),
    )


def _memberships(scope: Scope) -> list[schemas.MembershipOut]:
    if scope.principal is None:
        return []
    rows = scope.principal.user.memberships.select_related("organisation").order_by("id")
    return [
        schemas.MembershipOut(
            role=row.role,
            organisation=row.organisation.uid if row.organisation else None,
            tenants=[tenant.uid for tenant in row.tenants.all()],
        )
        for row in rows.prefetch_related("tenants")
    ]
