"""Roles, invitations, resets and the last manager (04 §1.1)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from controlplane.accounts import members, people, websessions
from controlplane.accounts.models import (
    Invitation,
    Membership,
    Organisation,
    PasswordReset,
    Tenant,
    User,
)
from controlplane.accounts.problems import LastManagerError, LinkError
from controlplane.accounts.queries import members_of, open_invitations
from controlplane.accounts.scopes import scope_of_user
from controlplane.accounts.secrets import digest_of
from controlplane.accounts.websessions import Machine
from controlplane.audit.models import AuditEvent
from tests.controlplane.conftest import PASSWORD, person

STRANGER = "ada@example.com"
NEW_PASSWORD = "another long phrase"


def test_an_invited_stranger_gets_an_account_and_the_role(
    organisation: Organisation, admin: User
) -> None:
    _, link = members.invite(" Ada@Example.com ", organisation, "operator", admin)

    user = members.accept_as_newcomer(link, password=PASSWORD, display_name="Ada")

    assert (user.email, user.check_password(PASSWORD)) == (STRANGER, True)
    assert scope_of_user(user).may_in("audit:read", organisation)
    assert list(open_invitations(organisation)) == []


def test_an_invitation_carries_its_tenants_into_the_membership(tenant: Tenant, admin: User) -> None:
    organisation = tenant.organisation
    _, link = members.invite(STRANGER, organisation, "viewer", admin, tenants=[tenant])

    user = members.accept_as_newcomer(link, password=PASSWORD)

    assert list(user.memberships.get().tenants.all()) == [tenant]


def test_an_invited_person_with_an_account_joins_by_signing_in(
    organisation: Organisation, other_tenant: Tenant, admin: User
) -> None:
    user = person("viewer", other_tenant.organisation, STRANGER)
    _, link = members.invite(STRANGER, organisation, "admin", admin)

    with pytest.raises(ValidationError):
        members.accept_as_newcomer(link, password=PASSWORD)
    with pytest.raises(LinkError):
        members.accept_as(link, admin)
    members.accept_as(link, user)

    assert {row.organisation for row in user.memberships.all()} == {
        organisation,
        other_tenant.organisation,
    }


def test_only_the_digest_of_an_invitation_is_kept(organisation: Organisation, admin: User) -> None:
    invitation, link = members.invite(STRANGER, organisation, "viewer", admin)

    assert invitation.token_hash == digest_of(link)
    assert link not in str(Invitation.objects.values()) + str(AuditEvent.objects.values())


def test_an_invitation_is_good_once_and_for_seven_days(
    organisation: Organisation, admin: User
) -> None:
    _, used = members.invite(STRANGER, organisation, "viewer", admin)
    members.accept_as_newcomer(used, password=PASSWORD)
    late, over = members.invite("b@example.com", organisation, "viewer", admin)
    assert late.expires_at - late.created_at > timedelta(days=6, hours=23)
    Invitation.objects.filter(pk=late.pk).update(expires_at=timezone.now())

    for link in (used, over, "cg_link_UNKNOWN"):
        with pytest.raises(LinkError):
            members.invitation_of(link)


def test_a_withdrawn_invitation_and_one_that_a_newer_one_replaces_are_over(
    organisation: Organisation, admin: User
) -> None:
    _, first = members.invite(STRANGER, organisation, "viewer", admin)
    second, link = members.invite(STRANGER, organisation, "admin", admin)
    with pytest.raises(LinkError):
        members.invitation_of(first)

    members.withdraw(second, admin)
    members.withdraw(second, admin)

    with pytest.raises(LinkError):
        members.invitation_of(link)
    withdrawals = AuditEvent.objects.filter(action="member.withdraw_invitation")
    assert withdrawals.count() == 2


@pytest.mark.parametrize("how", ["removed", "made a viewer", "disabled"])
def test_an_invitation_ends_with_the_right_to_make_it(
    organisation: Organisation, admin: User, manager: User, how: str
) -> None:
    _, link = members.invite(STRANGER, organisation, "admin", admin)
    _, kept = members.invite("eve@example.com", organisation, "viewer", manager)

    if how == "removed":
        members.remove_member(admin.memberships.get(), manager)
    elif how == "disabled":
        people.set_active(admin, active=False, by=manager)
    else:
        members.set_member(admin, organisation, "viewer", manager)

    with pytest.raises(LinkError):
        members.accept_as_newcomer(link, password=PASSWORD)
    assert members.accept_as_newcomer(kept, password=PASSWORD)
    withdrawn = AuditEvent.objects.get(action="member.withdraw_invitation")
    assert (withdrawn.object_label, withdrawn.actor_uid) == (STRANGER, manager.uid)


def test_a_member_is_not_invited_again(organisation: Organisation, admin: User) -> None:
    with pytest.raises(ValidationError):
        members.invite(admin.email, organisation, "viewer", admin)


def test_a_weak_password_leaves_the_invitation_good(
    organisation: Organisation, admin: User
) -> None:
    _, link = members.invite(STRANGER, organisation, "viewer", admin)

    with pytest.raises(ValidationError):
        members.accept_as_newcomer(link, password="short")

    assert members.invitation_of(link).email == STRANGER


@pytest.mark.parametrize("role", ["manager", "owner"])
def test_a_role_that_does_not_fit_the_place_cannot_be_given(
    organisation: Organisation, admin: User, role: str
) -> None:
    with pytest.raises(ValidationError):
        members.set_member(admin, organisation, role, admin)
    with pytest.raises(ValidationError):
        members.invite(STRANGER, organisation, role, admin)


def test_a_membership_cannot_name_a_tenant_of_elsewhere(
    organisation: Organisation, other_tenant: Tenant, admin: User
) -> None:
    with pytest.raises(ValidationError):
        members.set_member(admin, organisation, "viewer", None, tenants=[other_tenant])


def test_a_changed_role_holds_at_once_and_the_trail_has_both(tenant: Tenant, admin: User) -> None:
    members.set_member(admin, tenant.organisation, "viewer", None, tenants=[tenant])

    assert not scope_of_user(admin).may("config:write", tenant)
    event = AuditEvent.objects.filter(action="member.set").first()
    assert event is not None
    assert event.before == {"role": "admin", "tenants": []}
    assert event.after == {"role": "viewer", "tenants": [tenant.uid]}


def test_the_last_active_manager_cannot_be_disabled(manager: User) -> None:
    with pytest.raises(LastManagerError) as refused:
        people.set_active(manager, active=False, by=manager)

    assert (refused.value.code, refused.value.status) == ("account.last_manager", 409)


def test_a_disabled_person_is_out_everywhere_and_can_come_back(
    manager: User, tenant: Tenant, admin: User
) -> None:
    websessions.admit("key", admin, Machine("", ""))
    people.set_active(admin, active=False, by=manager)

    assert not scope_of_user(admin).may("config:read", tenant)
    assert not websessions.machines_of(admin)
    people.set_active(admin, active=True, by=manager)
    assert scope_of_user(admin).may("config:read", tenant)


def test_a_disabled_manager_does_not_count(manager: User) -> None:
    other = person(Membership.Role.MANAGER, None, "other@example.com")
    people.set_active(other, active=False, by=manager)

    with pytest.raises(LastManagerError):
        members.remove_member(manager.memberships.get(), manager)


def test_a_reset_link_sets_a_password_once_and_signs_the_person_out(
    manager: User, admin: User
) -> None:
    websessions.admit("key", admin, Machine("", ""))
    link = people.start_reset(admin, manager)

    people.reset_password(link, NEW_PASSWORD)

    admin.refresh_from_db()
    assert admin.check_password(NEW_PASSWORD)
    assert not websessions.machines_of(admin)
    with pytest.raises(LinkError):
        people.reset_password(link, NEW_PASSWORD)


def test_a_reset_link_ends_with_the_hour_a_newer_one_or_the_account(
    manager: User, admin: User
) -> None:
    first = people.start_reset(admin, manager)
    second = people.start_reset(admin, manager)
    with pytest.raises(LinkError):
        people.reset_password(first, NEW_PASSWORD)

    people.set_active(admin, active=False, by=manager)
    with pytest.raises(LinkError):
        people.reset_password(second, NEW_PASSWORD)

    people.set_active(admin, active=True, by=manager)
    PasswordReset.objects.update(expires_at=timezone.now())
    with pytest.raises(LinkError):
        people.reset_password(second, NEW_PASSWORD)


def test_no_reset_link_enters_the_trail(manager: User, admin: User) -> None:
    link = people.start_reset(admin, manager)

    assert link not in str(list(AuditEvent.objects.values()))
    assert PasswordReset.objects.get().token_hash == digest_of(link)


@pytest.mark.parametrize("count", [1, 20])
def test_members_are_listed_in_two_queries_however_many_there_are(
    organisation: Organisation, django_assert_num_queries: object, count: int
) -> None:
    for number in range(count):
        person("viewer", organisation, f"{number}@example.com")

    with django_assert_num_queries(2):  # type: ignore[operator]
        rows = [(row.user.email, list(row.tenants.all())) for row in members_of(organisation)]
    assert len(rows) == count
