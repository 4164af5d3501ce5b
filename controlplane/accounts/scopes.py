"""What one principal reaches: built once per request, asked by whatever reads or changes.

Source: 04-controlplane-and-dashboard.md 1.1, 8.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from controlplane.accounts.models import ApiToken, Membership, Organisation, Tenant, User
from controlplane.accounts.problems import AmbiguousNameError
from controlplane.accounts.roles import PERMISSIONS, checked_name
from controlplane.audit.actions import Actor


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking: a person, or a token in a person's name. It signs the audit trail."""

    user: User
    token: ApiToken | None = None

    @property
    def actor_uid(self) -> str:
        return self.token.uid if self.token else self.user.uid

    @property
    def actor_label(self) -> str:
        label = self.user.actor_label
        return f"{label} ({self.token.name})" if self.token else label


def person_behind(by: Actor | None) -> User | None:
    """The person who did it, with their own hands or by a token; None for the product itself."""
    if isinstance(by, Principal):
        return by.user
    return by if isinstance(by, User) else None


@dataclass(frozen=True, slots=True)
class Grant:
    """Permissions in a place. organisation: None for all; tenants: empty for all of it."""

    permissions: frozenset[str]
    organisation: int | None
    tenants: frozenset[int] = frozenset()

    def covers(self, tenant: Tenant) -> bool:
        if self.organisation is None:
            return True
        inside = tenant.organisation_id == self.organisation
        return inside and (not self.tenants or tenant.pk in self.tenants)

    def covers_all_of(self, organisation: Organisation | None) -> bool:
        """Whoever is restricted to some tenants cannot act on their organisation."""
        if self.organisation is None:
            return True
        here = organisation is not None and organisation.pk == self.organisation
        return here and not self.tenants

    def rows(self) -> Q:
        if self.organisation is None:
            return ~Q(pk__in=[])
        inside = Q(organisation=self.organisation)
        return inside & Q(pk__in=self.tenants) if self.tenants else inside


@dataclass(frozen=True, slots=True)
class Scope:
    """The grants of a principal; without one (nobody signed in) there are none."""

    principal: Principal | None
    grants: tuple[Grant, ...] = ()

    def may(self, permission: str, tenant: Tenant | None) -> bool:
        """Whether this may be done to the tenant; None is the deployment.

        An unknown permission is a KeyError, so that a misspelt one is found, not denied.
        """
        granting = self._granting(permission)
        if tenant is None:
            return any(grant.organisation is None for grant in granting)
        return any(grant.covers(tenant) for grant in granting)

    def may_in(self, permission: str, organisation: Organisation | None) -> bool:
        """The same for an organisation as a whole: its members, secrets and trail."""
        return any(grant.covers_all_of(organisation) for grant in self._granting(permission))

    def may_somewhere(self, permission: str) -> bool:
        """Whether there is an organisation, or the deployment, that may_in says yes to."""
        return any(not grant.tenants for grant in self._granting(permission))

    def tenants(self, permission: str = "config:read") -> QuerySet[Tenant]:
        seen = Q(pk__in=[])
        for grant in self._granting(permission):
            seen |= grant.rows()
        return Tenant.objects.filter(seen).select_related("organisation")

    def tenant(self, slug: str, permission: str = "config:read") -> Tenant | None:
        """The one of that slug or uid; a foreign one is None like an unknown one.

        AmbiguousNameError for a slug of several: a deed never falls on one that was not meant.
        """
        found = list(self.tenants(permission).filter(Q(slug=slug) | Q(uid=slug)))
        if len(found) > 1:
            raise AmbiguousNameError("tenant", [tenant.uid for tenant in found])
        return found[0] if found else None

    def organisations(self, permission: str) -> QuerySet[Organisation]:
        """Those that may_in says yes to."""
        if self.may(permission, None):
            return Organisation.objects.all()
        granting = self._granting(permission)
        places = {grant.organisation for grant in granting if not grant.tenants}
        return Organisation.objects.filter(pk__in=[place for place in places if place])

    def trail(self) -> frozenset[str] | None:
        """Whose events may be read, as audit.queries takes it; None for all."""
        if self.may("audit:read", None):
            return None
        return frozenset(self.organisations("audit:read").values_list("uid", flat=True))

    def _granting(self, permission: str) -> list[Grant]:
        checked_name(permission)
        return [grant for grant in self.grants if permission in grant.permissions]


NOBODY = Scope(None)


def scope_of_user(user: User | AnonymousUser) -> Scope:
    """Nothing for someone who is not signed in or not active."""
    if not isinstance(user, User) or not user.is_active:
        return NOBODY
    return Scope(Principal(user), tuple(_grants(user)))


def scope_of(principal: Principal | None) -> Scope:
    """A token has what it was given and its maker still has; it narrows, it never adds."""
    if principal is None:
        return NOBODY
    scope = scope_of_user(principal.user)
    if principal.token is None:
        return scope
    narrowed = (_narrowed(grant, principal.token) for grant in scope.grants)
    return Scope(principal, tuple(grant for grant in narrowed if grant is not None))


def _grants(user: User) -> Iterable[Grant]:
    for membership in user.memberships.prefetch_related("tenants"):
        yield _granted(membership)


def _granted(membership: Membership) -> Grant:
    return Grant(
        PERMISSIONS[membership.role],
        membership.organisation_id,
        frozenset(tenant.pk for tenant in membership.tenants.all()),
    )


def _narrowed(grant: Grant, token: ApiToken) -> Grant | None:
    narrowed = replace(grant, permissions=grant.permissions & frozenset(token.scopes))
    if token.tenant is not None:
        if not grant.covers(token.tenant):
            return None
        tenants = frozenset([token.tenant.pk])
        return replace(narrowed, organisation=token.tenant.organisation_id, tenants=tenants)
    if token.organisation_id is None:
        return narrowed
    if grant.organisation is None:
        return replace(narrowed, organisation=token.organisation_id)
    return narrowed if grant.organisation == token.organisation_id else None
