"""Which tenants a question is about (04 §8.4)."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from controlplane.accounts.scopes import Scope

READ = "telemetry:read"


@dataclass(frozen=True, slots=True)
class Reach:
    """tenants: uids; None for every tenant and for what belongs to none."""

    tenants: frozenset[str] | None

    @property
    def rows(self) -> Q:
        return Q() if self.tenants is None else Q(tenant_uid__in=self.tenants)

    def covers(self, tenant_uid: str) -> bool:
        return self.tenants is None or tenant_uid in self.tenants


def reach(scope: Scope, tenant: str = "", permission: str = READ) -> Reach:
    """Where the scope has the permission, narrowed to one tenant (its uid) if one is named."""
    if scope.may(permission, None):
        return Reach(frozenset({tenant}) if tenant else None)
    own = scope.tenants(permission)
    if tenant:
        own = own.filter(uid=tenant)
    return Reach(frozenset(own.values_list("uid", flat=True)))
