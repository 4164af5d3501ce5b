"""Whose figures a page shows: one tenant or all that the person may see, never more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse

from controlplane.accounts.models import Membership, Tenant, User
from controlplane.accounts.problems import AmbiguousNameError
from controlplane.accounts.queries import visible_tenants
from controlplane.figures.merging import merged
from controlplane.figures.stats import Stats
from controlplane.fleet import running

ALL_TENANTS = "All tenants"


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    href: str
    is_current: bool
    keys: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """chosen: the tenant on screen, None for all of `tenants`. sees_all: manages the deployment."""

    tenants: Sequence[Tenant]
    chosen: Tenant | None
    sees_all: bool

    @property
    def label(self) -> str:
        return self.chosen.label if self.chosen else ALL_TENANTS

    @property
    def href(self) -> str:
        return overview_of(self.chosen, self.tenants)

    def choices(self) -> tuple[Choice, ...]:
        every = Choice(ALL_TENANTS, overview_of(None, ()), is_current=self.chosen is None)
        return (every, *(self._choice(tenant) for tenant in self.tenants))

    def _choice(self, tenant: Tenant) -> Choice:
        href = overview_of(tenant, self.tenants)
        return Choice(tenant.label, href, is_current=tenant == self.chosen)

    def stats(self) -> Stats | None:
        """Of the running node; None without one.

        Whoever does not manage the deployment gets the sum of their tenants, because the
        figures of the whole node hold those of other organisations too.
        """
        if self.chosen is not None:
            return running.stats(self.chosen.uid)
        if self.sees_all:
            return running.stats(None)
        found = [running.stats(tenant.uid) for tenant in self.tenants]
        reported = [stats for stats in found if stats is not None]
        return merged(reported) if reported else None


def scope_of(user: User, named: str) -> Scope:
    """named: slug or uid of a tenant, empty for all.

    Http404 when the person may not see it, AmbiguousNameError for a slug of several.
    """
    tenants = list(visible_tenants(user))
    sees_all = user.memberships.filter(role=Membership.Role.MANAGER).exists()
    if not named:
        return Scope(tenants, None, sees_all)
    meant = [tenant for tenant in tenants if named in (tenant.slug, tenant.uid)]
    if len(meant) > 1:
        raise AmbiguousNameError("tenant", [tenant.uid for tenant in meant])
    if not meant:
        raise Http404
    return Scope(tenants, meant[0], sees_all)


def handle(tenant: Tenant, among: Sequence[Tenant]) -> str:
    """The tenant's name in an address: its slug, or its uid where two organisations share one."""
    same = [other for other in among if other.slug == tenant.slug]
    return tenant.slug if len(same) <= 1 else tenant.uid


def overview_of(tenant: Tenant | None, among: Sequence[Tenant]) -> str:
    query = f"?{urlencode({'tenant': handle(tenant, among)})}" if tenant else ""
    return reverse("ui:overview") + query
