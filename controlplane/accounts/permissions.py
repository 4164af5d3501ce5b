"""One question about a person and a tenant; accounts.scopes answers it for many at once."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from controlplane.accounts.models import Tenant, User
from controlplane.accounts.roles import PERMISSIONS
from controlplane.accounts.scopes import scope_of_user

__all__ = ["PERMISSIONS", "may"]


def may(user: User | AnonymousUser, permission: str, tenant: Tenant | None) -> bool:
    """Whether the person may do this to the tenant; None is the deployment: managers only.

    An unknown permission is a KeyError, so that a misspelt one is found, not denied.
    """
    return scope_of_user(user).may(permission, tenant)
