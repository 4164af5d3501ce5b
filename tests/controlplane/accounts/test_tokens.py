"""Tokens of the API: what they may, from where, for how long (04 §1.1, 8.3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from controlplane.accounts import members, people
from controlplane.accounts.models import ApiToken, Tenant, User
from controlplane.accounts.scopes import Scope, scope_of, scope_of_user
from controlplane.accounts.secrets import checksum
from controlplane.accounts.tokens import (
    TokenTerms,
    authenticate_token,
    issue_token,
    may_manage,
    revoke_token,
    rotate_token,
    tokens_of,
)
from controlplane.audit.models import AuditEvent
from tests.controlplane.conftest import person

HERE = "192.0.2.7"
PAST = datetime(2026, 1, 1, tzinfo=UTC)


def scope(plaintext: str) -> Scope:
    return scope_of(authenticate_token(plaintext, HERE))


def issue(user: User, **terms: Any) -> tuple[ApiToken, str]:
    return issue_token(user, "ci", user, TokenTerms(**terms))


def test_a_token_may_what_it_was_given_and_its_maker_still_may(tenant: Tenant, admin: User) -> None:
    _, plaintext = issue(admin, scopes=["config:read", "config:write", "upstream:write"])

    assert scope(plaintext).may("config:write", tenant)
    assert not scope(plaintext).may("key:write", tenant)
    assert not scope(plaintext).may("upstream:write", None)

    members.set_member(admin, tenant.organisation, "viewer", None)
    assert scope(plaintext).may("config:read", tenant)
    assert not scope(plaintext).may("config:write", tenant)


def test_a_token_narrows_to_an_organisation_or_a_tenant(
    tenant: Tenant, other_tenant: Tenant, manager: User
) -> None:
    beside = Tenant.objects.create(organisation=tenant.organisation, slug="maple", label="Maple")
    _, there = issue(manager, organisation=tenant.organisation)
    _, here = issue(manager, tenant=tenant)

    assert set(scope(there).tenants()) == {tenant, beside}
    assert scope(there).may_in("member:write", tenant.organisation)
    assert not scope(there).may("upstream:write", None)
    assert list(scope(here).tenants()) == [tenant]
    assert not scope(here).may_in("member:write", tenant.organisation)
    assert scope(here).tenant(other_tenant.uid) is None


def test_a_token_for_a_place_where_its_maker_is_not_reaches_nothing(
    tenant: Tenant, other_tenant: Tenant, admin: User
) -> None:
    _, organisation = issue(admin, organisation=other_tenant.organisation)
    _, foreign = issue(admin, tenant=other_tenant)

    assert not scope(organisation).tenants().exists()
    assert not scope(foreign).tenants().exists()


def test_a_mistyped_token_costs_no_query(admin: User, django_assert_num_queries: Any) -> None:
    _, plaintext = issue(admin)
    wrong = plaintext[:-1] + ("A" if plaintext[-1] != "A" else "B")

    with django_assert_num_queries(0):
        assert authenticate_token(wrong, HERE) is None
        assert authenticate_token("cg_live_" + "A" * 26, HERE) is None
        assert authenticate_token("", HERE) is None


def test_a_well_formed_token_that_nobody_issued_is_nobody(admin: User) -> None:
    body = "cg_api_" + "A" * 32

    assert authenticate_token(body + checksum(body), HERE) is None


def test_a_token_ends_when_it_is_over_revoked_or_its_maker_is_out(
    admin: User, manager: User
) -> None:
    late, over = issue(admin)
    ApiToken.objects.filter(pk=late.pk).update(expires_at=timezone.now())
    gone, revoked = issue(admin)
    revoke_token(gone, manager)
    _, orphaned = issue(admin)
    assert authenticate_token(orphaned, HERE) is not None
    people.set_active(admin, active=False, by=manager)

    assert [authenticate_token(text, HERE) for text in (over, revoked, orphaned)] == [None] * 3
    gone.refresh_from_db()
    assert gone.revoked_by == manager


@pytest.mark.parametrize(
    ("networks", "ip", "accepted"),
    [
        ([], "203.0.113.9", True),
        (["192.0.2.0/24"], "192.0.2.7", True),
        (["192.0.2.0/24"], "198.51.100.1", False),
        (["192.0.2.0/24", "2001:db8::/32"], "2001:db8::1", True),
        (["192.0.2.0/24"], "", False),
    ],
)
def test_a_token_is_accepted_from_its_networks_alone(
    admin: User, networks: list[str], ip: str, *, accepted: bool
) -> None:
    _, plaintext = issue(admin, ip_allow=networks)

    assert (authenticate_token(plaintext, ip) is not None) is accepted


def test_use_is_written_down_at_most_every_half_minute(
    admin: User, django_assert_num_queries: Any
) -> None:
    token, plaintext = issue(admin)
    authenticate_token(plaintext, HERE)
    token.refresh_from_db()
    first = token.last_used_at
    assert (first is not None, token.last_used_ip) == (True, HERE)

    with django_assert_num_queries(1):
        authenticate_token(plaintext, "192.0.2.8")
    past = timezone.now() - timedelta(seconds=31)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=past)
    authenticate_token(plaintext, "192.0.2.9")

    token.refresh_from_db()
    assert token.last_used_ip == "192.0.2.9"


def test_a_token_lives_ninety_days_unless_told_and_no_longer_than_the_policy(
    tenant: Tenant, admin: User
) -> None:
    usual, _ = issue(admin)
    organisation = tenant.organisation
    organisation.policy["max_token_days"] = 30
    organisation.save(update_fields=["policy"])

    assert (usual.expires_at - usual.created_at).days in (89, 90)
    assert issue(admin, organisation=organisation, days=30)
    for refused in ({"organisation": organisation, "days": 31}, {"tenant": tenant, "days": 90},
                    {"days": 31}, {"days": 0}):  # fmt: skip
        with pytest.raises(ValidationError):
            issue(admin, **refused)


def test_a_token_of_no_place_is_bound_by_every_organisation_of_its_maker(
    tenant: Tenant, other_tenant: Tenant, admin: User, manager: User
) -> None:
    for organisation, days in ((tenant.organisation, 3650), (other_tenant.organisation, 7)):
        organisation.policy["max_token_days"] = days
        organisation.save(update_fields=["policy"])
    assert issue(admin, days=365)
    members.set_member(admin, other_tenant.organisation, "viewer", None)

    for user, days in ((admin, 8), (manager, 366)):
        with pytest.raises(ValidationError):
            issue(user, days=days)
    assert issue(admin, days=7)


@pytest.mark.parametrize(
    "terms", [{"scopes": ["config:wirte"]}, {"scopes": []}, {"ip_allow": ["192.0.2.1/24"]}]
)
def test_terms_that_mean_nothing_are_refused(admin: User, terms: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        issue(admin, **terms)


def test_rotation_gives_a_token_of_the_same_terms_and_the_old_one_a_day(
    tenant: Tenant, admin: User
) -> None:
    old, before = issue(admin, scopes=["config:read"], tenant=tenant, ip_allow=["192.0.2.0/24"])

    fresh, after = rotate_token(old, admin)

    assert fresh.rotated_from == old
    assert (fresh.scopes, fresh.tenant, fresh.ip_allow) == (old.scopes, tenant, old.ip_allow)
    assert authenticate_token(before, HERE) is not None
    assert authenticate_token(after, HERE) is not None
    left = old.expires_at - timezone.now()
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    assert fresh.expires_at - timezone.now() > timedelta(days=89)


def test_a_token_that_was_revoked_meanwhile_is_not_rotated(admin: User) -> None:
    token, _ = issue(admin)
    loaded_before = ApiToken.objects.get(pk=token.pk)
    revoke_token(token, admin)

    with pytest.raises(ValidationError):
        rotate_token(loaded_before, admin)
    revoke_token(loaded_before, admin)

    assert ApiToken.objects.get() == token
    assert AuditEvent.objects.filter(action="token.revoke").count() == 1


def test_without_an_overlap_the_old_token_ends_at_once(admin: User) -> None:
    old, before = issue(admin)

    rotate_token(old, admin, overlap=timedelta(0))

    assert authenticate_token(before, HERE) is None


@pytest.mark.parametrize("overlap", [timedelta(days=7, seconds=1), timedelta(seconds=-1)])
def test_an_overlap_is_at_most_seven_days(admin: User, overlap: timedelta) -> None:
    old, _ = issue(admin)

    with pytest.raises(ValidationError):
        rotate_token(old, admin, overlap=overlap)


def test_a_dead_token_cannot_be_rotated_into_a_living_one(admin: User) -> None:
    old, _ = issue(admin)
    revoke_token(old, admin)

    with pytest.raises(ValidationError):
        rotate_token(old, admin)


def test_everyone_manages_their_own_an_admin_the_organisations_a_manager_all(
    tenant: Tenant, other_tenant: Tenant, admin: User, manager: User
) -> None:
    viewer = person("viewer", tenant.organisation)
    own, _ = issue(viewer, organisation=tenant.organisation)
    foreign, _ = issue(manager, organisation=other_tenant.organisation)

    found = {
        user.email: (
            [may_manage(scope_of_user(user), token) for token in (own, foreign)],
            {token.pk for token in tokens_of(scope_of_user(user))},
        )
        for user in (viewer, admin, manager)
    }

    assert found == {
        viewer.email: ([True, False], {own.pk}),
        admin.email: ([True, False], {own.pk}),
        manager.email: ([True, True], {own.pk, foreign.pk}),
    }


def test_a_token_signs_the_trail_with_its_own_name(admin: User, tenant: Tenant) -> None:
    token, plaintext = issue(admin)
    principal = authenticate_token(plaintext, HERE)
    members.set_member(admin, tenant.organisation, "admin", principal)

    event = AuditEvent.objects.filter(action="member.set").first()
    assert event is not None
    assert (event.actor_kind, event.actor_uid) == ("token", token.uid)
    assert plaintext not in str(list(AuditEvent.objects.values()))


def child_of(parent: ApiToken, days: int = 90) -> ApiToken:
    terms = TokenTerms(scopes=["config:read"], days=days, parent=parent)
    return issue_token(parent.created_by, "child", parent.created_by, terms)[0]


def ends_by(child: ApiToken, parent: ApiToken) -> bool:
    for token in (child, parent):
        token.refresh_from_db()
    return child.expires_at <= parent.expires_at


@pytest.mark.parametrize("renewals", [0, 1, 3])
def test_a_child_never_outlives_its_parent_however_often_it_is_rotated(
    admin: User, renewals: int
) -> None:
    parent, _ = issue_token(admin, "ci", admin, TokenTerms(days=10))
    child = child_of(parent)
    for _ in range(renewals):
        child, _ = rotate_token(child, admin)

    assert child.parent == parent
    assert ends_by(child, parent)


def test_children_end_with_a_parent_that_is_rotated(admin: User) -> None:
    parent, _ = issue_token(admin, "ci", admin)
    child = child_of(parent)
    grandchild = child_of(child)

    rotate_token(parent, admin, overlap=timedelta(hours=1))

    assert ends_by(child, parent)
    assert ends_by(grandchild, parent)


def test_revoking_a_token_takes_all_that_came_of_it(admin: User) -> None:
    parent, _ = issue_token(admin, "ci", admin)
    child = child_of(parent)
    renewed, text = rotate_token(child, admin)
    grandchild = child_of(renewed)

    revoke_token(parent, admin)

    assert not ApiToken.objects.filter(revoked_at=None).exists()
    assert authenticate_token(text, "127.0.0.1") is None
    trail = AuditEvent.objects.filter(action="token.revoke").values_list("object_uid", flat=True)
    assert {parent.uid, child.uid, renewed.uid, grandchild.uid} == set(trail)


def test_a_token_revoked_twice_takes_a_child_that_was_left(admin: User) -> None:
    parent, _ = issue_token(admin, "ci", admin)
    child = child_of(parent)
    ApiToken.objects.filter(pk=parent.pk).update(revoked_at=timezone.now())

    revoke_token(parent, admin)

    child.refresh_from_db()
    assert child.revoked_at is not None


@pytest.mark.parametrize("over", [{"revoked_at": PAST}, {"expires_at": PAST}])
def test_a_token_that_is_revoked_or_over_has_no_more_children(
    admin: User, over: dict[str, datetime]
) -> None:
    parent, _ = issue_token(admin, "ci", admin)
    ApiToken.objects.filter(pk=parent.pk).update(**over)

    with pytest.raises(ValidationError):
        child_of(parent)
