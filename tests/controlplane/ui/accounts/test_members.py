"""Members, invitations, accounts, and the doors that a link opens (04 §1.1, 5.13)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.members import invite, set_member
from controlplane.accounts.models import Invitation, Membership, Organisation, Tenant, User
from controlplane.accounts.people import start_reset
from tests.controlplane.conftest import PASSWORD, person
from tests.controlplane.ui.conftest import Browser

PAGE = "/members/acme"
NEW = "a password of my own"


def link_in(page: str) -> str:
    return str(re.findall(r"http://testserver(/[a-z-]+/cg_link_[A-Z2-7]{32})", page)[0])


def test_the_list_shows_role_tenants_and_sign_ins(
    browser: Browser, admin: User, viewer: User, tenant: Tenant
) -> None:
    set_member(viewer, tenant.organisation, "viewer", None, tenants=[tenant])
    client = browser(admin)
    client.get("/me")  # from its first request on, a machine is listed

    page = client.get("/members").content.decode()

    assert "viewer@example.com" in page
    assert "<td>orchid</td>" in page
    assert "not signed in" in page
    assert '<td class="num">1</td>' in page


@pytest.mark.parametrize("count", [1, 20])
def test_the_number_of_queries_does_not_grow_with_the_members(
    browser: Browser, admin: User, organisation: Organisation, count: int,
    django_assert_num_queries: Callable[[int], object],
) -> None:  # fmt: skip
    for number in range(count):
        person("viewer", organisation, f"viewer-{number}@example.com")
    client = browser(admin)
    client.get("/login")

    with django_assert_num_queries(14):  # type: ignore[attr-defined]
        client.get(PAGE)


def test_an_invitation_is_a_link_that_is_shown_once_and_makes_an_account(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    asked = {"email": "New@example.com", "role": "operator", "tenants": [tenant.uid]}
    client = browser(admin)
    answer = client.post(f"{PAGE}/invite", asked)
    link = link_in(answer.content.decode())
    guest = Client()

    door = guest.get(link).content.decode()
    weak = guest.post(link, {"password": "password", "display_name": "Guest"})
    entered = guest.post(link, {"password": NEW, "display_name": "Guest"})

    member = Membership.objects.get(user__email="new@example.com")
    assert "no-store" in answer["cache-control"]
    assert link.rpartition("/")[2] not in client.get(PAGE).content.decode()
    assert "invited as operator" in door
    assert weak.status_code == 422
    assert entered["location"] == "/"
    assert (member.role, [each.slug for each in member.tenants.all()]) == ("operator", ["orchid"])
    assert guest.get("/tenants").status_code == 200
    assert guest.post(link, {"password": NEW}).status_code == 404


def test_somebody_with_an_account_signs_in_to_join(
    browser: Browser, organisation: Organisation, viewer: User, other_tenant: Tenant
) -> None:
    _, text = invite(viewer.email, other_tenant.organisation, "admin", None)

    stranger = Client().get(f"/join/{text}").content.decode()
    client = browser(viewer)
    client.post(f"/join/{text}")

    assert f"/login?next=/join/{text}" in stranger
    assert viewer.memberships.filter(organisation=other_tenant.organisation, role="admin").exists()


def test_an_invitation_for_somebody_else_is_not_taken(
    browser: Browser, organisation: Organisation, viewer: User, admin: User
) -> None:
    _, text = invite("else@example.com", organisation, "admin", None)
    User.objects.create_user("else@example.com", PASSWORD)

    page = browser(viewer).get(f"/join/{text}").content.decode()
    answer = browser(viewer).post(f"/join/{text}")

    assert "You are signed in as viewer@example.com" in page
    assert answer.status_code == 404
    assert viewer.memberships.get().role == "viewer"


def test_inviting_a_member_again_is_refused_beside_the_address(
    browser: Browser, admin: User, viewer: User
) -> None:
    answer = browser(admin).post(f"{PAGE}/invite", {"email": viewer.email, "role": "admin"})

    assert answer.status_code == 422
    assert "is a member already" in answer.content.decode()
    assert not Invitation.objects.exists()


def test_a_withdrawn_invitation_opens_nothing(
    browser: Browser, admin: User, organisation: Organisation
) -> None:
    invitation, text = invite("new@example.com", organisation, "viewer", None)

    browser(admin).post(f"{PAGE}/invitations/{invitation.uid}/withdraw")

    assert "not valid any more" in Client().get(f"/join/{text}").content.decode()


def test_a_role_and_its_tenants_are_set(
    browser: Browser, admin: User, viewer: User, tenant: Tenant
) -> None:
    browser(admin).post(
        f"{PAGE}/people/{viewer.uid}", {"role": "operator", "tenants": [tenant.uid]}
    )

    held = viewer.memberships.get()
    assert (held.role, list(held.tenants.all())) == ("operator", [tenant])


@pytest.mark.parametrize("role", ["manager", "owner"])
def test_an_admin_cannot_make_a_manager(
    browser: Browser, admin: User, viewer: User, role: str
) -> None:
    answer = browser(admin).post(f"{PAGE}/people/{viewer.uid}", {"role": role})

    assert answer.status_code == 422
    assert viewer.memberships.get().role == "viewer"


def test_a_tenant_of_another_organisation_cannot_be_given(
    browser: Browser, admin: User, viewer: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    answer = browser(admin).post(
        f"{PAGE}/people/{viewer.uid}", {"role": "viewer", "tenants": [other_tenant.uid]}
    )

    assert answer.status_code == 422


def test_an_admin_of_some_tenants_only_does_not_reach_the_members(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    set_member(admin, tenant.organisation, "admin", None, tenants=[tenant])

    client = browser(admin)

    assert client.get("/members").status_code == client.get(PAGE).status_code == 403
    assert "/members" not in client.get("/tenants").content.decode()


def test_a_disabled_person_is_signed_out(browser: Browser, admin: User, viewer: User) -> None:
    theirs = browser(viewer)
    assert theirs.get("/tenants").status_code == 200

    browser(admin).post(f"{PAGE}/people/{viewer.uid}/activity", {"active": "no"})

    assert theirs.get("/tenants").status_code == 302


def test_an_account_that_also_belongs_elsewhere_is_not_an_admins_to_end(
    browser: Browser, admin: User, viewer: User, other_tenant: Tenant
) -> None:
    set_member(viewer, other_tenant.organisation, "viewer", None)
    client = browser(admin)
    path = f"{PAGE}/people/{viewer.uid}"

    page = client.get(path).content.decode()
    refused = [client.post(f"{path}/{deed}", {"active": "no"}) for deed in ("activity", "reset")]

    assert "belongs to other places too" in page
    assert [answer.status_code for answer in refused] == [403, 403]
    viewer.refresh_from_db()
    assert viewer.is_active


def test_the_last_manager_stays(browser: Browser, manager: User) -> None:
    client = browser(manager)
    path = f"/members/_deployment/people/{manager.uid}"

    answers = [client.post(f"{path}/remove"), client.post(f"{path}/activity", {"active": "no"})]

    assert [answer.status_code for answer in answers] == [409, 409]
    assert "The last active manager stays" in answers[0].content.decode()


def test_a_new_password_is_chosen_with_a_link_and_nothing_else(
    browser: Browser, admin: User, viewer: User
) -> None:
    answer = browser(admin).post(f"{PAGE}/people/{viewer.uid}/reset")
    link = link_in(answer.content.decode())
    door = Client()

    weak = door.post(link, {"password": "short"})
    done = door.post(link, {"password": NEW})
    again = door.post(link, {"password": NEW})

    viewer.refresh_from_db()
    assert weak.status_code == 422
    assert done["location"] == "/login"
    assert viewer.check_password(NEW)
    assert again.status_code == 404


def test_the_page_of_a_link_says_nothing_about_whose_it_is(viewer: User) -> None:
    text = start_reset(viewer, None)

    known = Client().get(f"/new-password/{text}").content.decode()
    unknown = Client().get("/new-password/cg_link_nobody").content.decode()

    assert viewer.email not in known
    assert re.sub(r'value="[^"]{64}"', "", known) == re.sub(r'value="[^"]{64}"', "", unknown)


def test_a_manager_chooses_whose_members_are_shown(
    browser: Browser, manager: User, organisation: Organisation
) -> None:
    create_tenant(organisation, slug="fern", by=None)
    client = browser(manager)

    assert "/members/_deployment" in client.get(PAGE).content.decode()
    assert "Who manages the deployment" in client.get("/members/_deployment").content.decode()
