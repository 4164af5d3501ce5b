"""Who may do what: one table (04 §1.1). Where it holds: accounts.scopes."""

from __future__ import annotations

from controlplane.accounts.models import Membership

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


def checked_name(permission: str) -> str:
    """The name itself; KeyError for one that the table lacks."""
    if permission not in _MANAGER:
        raise KeyError(permission)
    return permission
