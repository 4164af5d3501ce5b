"""The permission table of 04 §1.1, row by row."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from controlplane.accounts.models import Membership, Tenant
from controlplane.accounts.permissions import PERMISSIONS, may
from controlplane.accounts.queries import visible_tenant, visible_tenants
from tests.controlplane.conftest import person

V, O, A, M = "viewer", "operator", "admin", "manager"  # noqa: E741  the table's columns
TABLE = {
    "telemetry:read": {V, O, A, M},
    "content:read": {O, A, M},
    "config:read": {V, O, A, M},
    "config:write": {A, M},
    "rollout:write": {A, M},
    "rollout:stop": {O, A, M},
    "rollout:approve": {A, M},
    "alarm:ack": {O, A, M},
    "alarm:silence": {O, A, M},
    "tenant:write": {A, M},
    "key:write": {A, M},
    "member:write": {A, M},
    "token:write": {A, M},
    "audit:read": {O, A, M},
    "export:create": {O, A, M},
    "upstream:write": {M},
    "price:write": {M},
    "node:write": {M},
    "retention:write": {M},
    "system:read": {M},
    "secret:write": {A, M},
}


@pytest.mark.parametrize("role", [V, O, A, M])
@pytest.mark.parametrize(("permission", "roles"), TABLE.items(), ids=TABLE)
def test_a_role_has_exactly_the_permissions_of_its_column(
    permission: str, roles: set[str], role: str
) -> None:
    assert (permission in PERMISSIONS[role]) is (role in roles)


def test_the_table_has_no_permission_that_the_specification_lacks() -> None:
    assert PERMISSIONS[M] == set(TABLE)


def test_a_member_may_nothing_in_another_organisation(tenant: Tenant, other_tenant: Tenant) -> None:
    user = person(Membership.Role.ADMIN, tenant.organisation)

    assert may(user, "config:write", tenant)
    assert not may(user, "config:read", other_tenant)
    assert list(visible_tenants(user)) == [tenant]
    assert visible_tenant(user, other_tenant.uid) is None


def test_two_tenants_of_one_slug_are_told_apart_by_who_asks(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    user = person(Membership.Role.VIEWER, other_tenant.organisation)

    assert visible_tenant(user, "orchid") == other_tenant


def test_a_membership_that_names_tenants_covers_those_alone(tenant: Tenant, db: None) -> None:
    other = Tenant.objects.create(organisation=tenant.organisation, slug="maple", label="Maple")
    user = person(Membership.Role.OPERATOR, tenant.organisation)
    user.memberships.get().tenants.add(other)

    assert may(user, "telemetry:read", other)
    assert not may(user, "telemetry:read", tenant)
    assert list(visible_tenants(user)) == [other]


def test_a_manager_sees_and_may_everything(tenant: Tenant, other_tenant: Tenant) -> None:
    user = person(Membership.Role.MANAGER, None)

    assert may(user, "upstream:write", None)
    assert may(user, "key:write", other_tenant)
    assert set(visible_tenants(user)) == {tenant, other_tenant}


def test_only_a_manager_may_act_on_the_deployment(tenant: Tenant) -> None:
    assert not may(person(Membership.Role.ADMIN, tenant.organisation), "secret:write", None)


def test_who_is_inactive_or_not_signed_in_may_nothing(tenant: Tenant) -> None:
    user = person(Membership.Role.MANAGER, None)
    user.is_active = False

    assert not may(user, "telemetry:read", tenant)
    assert not may(AnonymousUser(), "telemetry:read", tenant)
    assert not visible_tenants(user).exists()


def test_a_misspelt_permission_is_an_error_rather_than_a_refusal(tenant: Tenant) -> None:
    with pytest.raises(KeyError):
        may(AnonymousUser(), "config:wirte", tenant)
