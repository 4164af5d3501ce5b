"""S-01: whatever takes a scope answers with what that scope covers and nothing else (04 §8.4)."""

from __future__ import annotations

from itertools import product

import pytest

from controlplane.accounts.actions import create_organisation, create_tenant
from controlplane.accounts.models import Tenant, User
from controlplane.accounts.roles import PERMISSIONS
from controlplane.accounts.scopes import NOBODY, Scope, scope_of, scope_of_user
from controlplane.accounts.tokens import TokenTerms, issue_token, tokens_of
from controlplane.audit.queries import trail
from controlplane.configs.actions import ensure_server_default
from tests.controlplane.conftest import person

ROLES = ("viewer", "operator", "admin")


@pytest.fixture
def tenants(db: None) -> list[Tenant]:
    """Three organisations with two tenants each, of the same slugs."""
    ensure_server_default()
    found = []
    for name in ("acme", "globex", "initech"):
        organisation = create_organisation(name=name.title(), slug=name, by=None)
        found += [create_tenant(organisation, slug=slug, by=None) for slug in ("orchid", "maple")]
    return found


@pytest.fixture
def people(tenants: list[Tenant]) -> list[User]:
    """Each role in each organisation, for all of it and for its first tenant alone."""
    found = []
    organisations = [tenant.organisation for tenant in tenants[::2]]
    for role, organisation, restricted in product(ROLES, organisations, (False, True)):
        email = f"{role}-{organisation.slug}-{restricted}@example.com"
        user = person(role, organisation, email)
        if restricted:
            user.memberships.get().tenants.add(organisation.tenants.get(slug="orchid"))
        found.append(user)
        issue_token(user, "own", user, TokenTerms(organisation=organisation))
    return found


def home(user: User) -> set[Tenant]:
    """Where the person belongs, read off the rows."""
    membership = user.memberships.get()
    assert membership.organisation is not None
    return set(membership.tenants.all()) or set(membership.organisation.tenants.all())


def is_whole(user: User) -> bool:
    return not user.memberships.get().tenants.exists()


def test_the_tenants_of_a_scope_are_those_of_its_membership(people: list[User]) -> None:
    for user, permission in product(people, sorted(PERMISSIONS["manager"])):
        has_it = permission in PERMISSIONS[user.memberships.get().role]
        expected = home(user) if has_it else set()

        assert set(scope_of_user(user).tenants(permission)) == expected, (user, permission)


def test_a_scope_says_yes_to_exactly_the_tenants_that_it_lists(
    people: list[User], tenants: list[Tenant]
) -> None:
    for user, permission in product(people, ("config:read", "key:write")):
        scope = scope_of_user(user)
        allowed = {tenant for tenant in tenants if scope.may(permission, tenant)}

        assert allowed == set(scope.tenants(permission))
        assert not scope.may(permission, None)


def test_a_foreign_tenant_is_found_by_neither_slug_nor_uid(
    people: list[User], tenants: list[Tenant]
) -> None:
    for user, tenant in product(people, tenants):
        scope = scope_of_user(user)
        found = scope.tenant(tenant.uid)

        assert found == (tenant if tenant in home(user) else None)
        by_slug = scope.tenant(tenant.slug)
        assert by_slug is None or by_slug in home(user)


def test_only_whoever_covers_a_whole_organisation_acts_on_it(
    people: list[User], tenants: list[Tenant]
) -> None:
    organisations = {tenant.organisation for tenant in tenants}
    for user, permission in product(people, ("member:write", "audit:read", "secret:write")):
        scope = scope_of_user(user)
        membership = user.memberships.get()
        may_here = permission in PERMISSIONS[membership.role] and is_whole(user)
        expected = {membership.organisation} if may_here else set()

        assert {one for one in organisations if scope.may_in(permission, one)} == expected
        assert set(scope.organisations(permission)) == expected
        assert not scope.may_in(permission, None)


def test_the_trail_and_the_tokens_of_a_scope_hold_nothing_foreign(people: list[User]) -> None:
    for user in people:
        scope = scope_of_user(user)
        organisation = user.memberships.get().organisation
        assert organisation is not None

        uids = {event.organisation_uid for event in trail(scope.trail()).events}
        assert uids <= {organisation.uid}
        assert all(token.organisation == organisation for token in tokens_of(scope))
        assert any(token.created_by == user for token in tokens_of(scope))


def test_a_manager_reaches_everything(people: list[User], tenants: list[Tenant]) -> None:
    scope = scope_of_user(person("manager", None))

    assert set(scope.tenants()) == set(tenants)
    assert scope.trail() is None
    assert len(tokens_of(scope)) == len(people)
    assert all(scope.may_in("member:write", tenant.organisation) for tenant in tenants)


@pytest.mark.parametrize("scope", [NOBODY, scope_of(None)], ids=["nobody", "no principal"])
def test_nobody_reaches_nothing(tenants: list[Tenant], scope: Scope) -> None:
    assert not scope.tenants().exists()
    assert trail(scope.trail()).events == []
    assert tokens_of(scope) == []


def test_a_misspelt_permission_is_an_error_in_every_question(tenants: list[Tenant]) -> None:
    for ask in (
        lambda: NOBODY.may("config:wirte", tenants[0]),
        lambda: NOBODY.may_in("config:wirte", None),
        lambda: NOBODY.tenants("config:wirte"),
    ):
        with pytest.raises(KeyError):
            ask()


def test_a_scope_is_built_in_two_queries_and_answers_without_any(
    tenants: list[Tenant],
    people: list[User],
    django_assert_num_queries: object,
) -> None:
    with django_assert_num_queries(2):  # type: ignore[operator]
        scope = scope_of_user(people[0])
    with django_assert_num_queries(0):  # type: ignore[operator]
        scope.may("config:read", tenants[0])
        scope.may_in("audit:read", tenants[0].organisation)
