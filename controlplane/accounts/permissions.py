"""Who may do what: one table (04 section 1.1) and one question."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from controlplane.accounts.models import Membership, Tenant, User

_VIEWER = frozenset({"telemetry:read", "config:read"})
_OPERATOR = _VIEWER | {
    "content:read", "rollout:stop", "alarm:ack", "alarm:silence", "audit:read", "export:create",
}  # fmt: skip
_ADMIN = _OPERATOR | {
    "config:write", "rollout:write", "rollout:approve", "tenant:write", "key:write",
    "member:write", "token:write", "secret:write",
}  # fmt: skip
_MANAGER = _ADMIN | {
    "upstream:write", "price:write", "node:write", "retention:write", "system:read",
}  # fmt: skip

PERMISSIONS: dict[str, frozenset[str]] = {
    Membership.Role.VIEWER: _VIEWER,
    Membership.Role.OPERATOR: _OPERATOR,
    Membership.Role.ADMIN: _ADMIN,
    Membership.Role.MANAGER: _MANAGER,
}


def may(user: User | AnonymousUser, permission: str, tenant: Tenant | None) -> bool:
    """Whether the person may do this to the tenant; None is the deployment: managers only.

    An unknown permission is a KeyError, so that a misspelt one is found, not denied.
    """
    if permission not in _MANAGER:
        raise KeyError(permission)
    if not isinstance(user, User) or not user.is_active:
        return False
    return any(
        permission in PERMISSIONS[membership.role] and covers(membership, tenant)
        for membership in user.memberships.prefetch_related("tenants")
    )


def covers(membership: Membership, tenant: Tenant | None) -> bool:
    """Managers cover everything, others their organisation or the tenants named in it."""
    if membership.organisation_id is None:
        return True
    if tenant is None or tenant.organisation_id != membership.organisation_id:
        return False
    named = list(membership.tenants.all())
    return not named or tenant in named
