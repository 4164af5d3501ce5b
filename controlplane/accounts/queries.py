"""Rows ready to show: tenants that a person may see, keys, upstreams."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from controlplane.accounts.models import DataPlaneKey, Membership, Tenant, Upstream, User


def visible_tenants(user: User | AnonymousUser) -> QuerySet[Tenant]:
    """Tenants that the person may read; none for someone who is not signed in or not active."""
    if not isinstance(user, User) or not user.is_active:
        return Tenant.objects.none()
    memberships = list(user.memberships.prefetch_related("tenants"))
    seen = Q(pk__in=[])
    for membership in memberships:
        seen |= _covered(membership)
    return Tenant.objects.filter(seen).select_related("organisation")


def _covered(membership: Membership) -> Q:
    if membership.organisation_id is None:
        return ~Q(pk__in=[])
    named = [tenant.pk for tenant in membership.tenants.all()]
    inside = Q(organisation=membership.organisation_id)
    return inside & Q(pk__in=named) if named else inside


def visible_tenant(user: User | AnonymousUser, slug: str) -> Tenant | None:
    """The tenant of that slug that the person may read; its uid is accepted as well."""
    return visible_tenants(user).filter(Q(slug=slug) | Q(uid=slug)).first()


def keys_of(tenant: Tenant) -> Sequence[DataPlaneKey]:
    """Live keys first, then revoked ones, newest first in each."""
    keys = DataPlaneKey.objects.filter(tenant=tenant).order_by("-id")
    return sorted(keys, key=lambda key: key.revoked_at is not None)


def chosen_upstreams(tenant: Tenant) -> dict[str, Upstream]:
    """By dialect."""
    rows = tenant.upstreams.select_related("upstream").order_by("dialect")
    return {row.dialect: row.upstream for row in rows}


def upstreams_by_dialect() -> dict[str, list[Upstream]]:
    """The allow-list, to choose from."""
    found: dict[str, list[Upstream]] = {}
    for upstream in Upstream.objects.order_by("dialect", "name"):
        found.setdefault(upstream.dialect, []).append(upstream)
    return found


def current_key(tenant: Tenant) -> DataPlaneKey | None:
    """A key to show in an example: the newest live one."""
    return DataPlaneKey.objects.filter(tenant=tenant, revoked_at=None).order_by("-id").first()


def managers() -> QuerySet[User]:
    """Active people who manage the deployment, the first one first."""
    return User.objects.filter(is_active=True, memberships__role=Membership.Role.MANAGER).order_by(
        "id"
    )
