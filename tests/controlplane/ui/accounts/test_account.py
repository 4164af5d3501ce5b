"""One's own account, and tokens of the API (04 §5.16)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from controlplane.accounts.models import ApiToken, Tenant, User
from controlplane.accounts.tokens import TokenTerms, issue_token
from tests.controlplane.conftest import PASSWORD
from tests.controlplane.ui.conftest import Browser

NEW = "a password of my own"


def test_a_person_is_called_by_the_name_they_give(browser: Browser, admin: User) -> None:
    client = browser(admin)

    client.post("/me/name", {"display_name": " Ada "})

    admin.refresh_from_db()
    assert admin.display_name == "Ada"
    assert ": Ada, admin" in client.get("/me").content.decode()


def test_a_changed_password_signs_out_every_other_machine_and_keeps_this_one(
    browser: Browser, admin: User
) -> None:
    here, there = browser(admin), browser(admin)
    here.get("/me")
    there.get("/me")

    answer = here.post("/me/password", {"current": PASSWORD, "new": NEW})

    admin.refresh_from_db()
    assert answer["location"] == "/me"
    assert admin.check_password(NEW)
    assert here.get("/me").status_code == 200
    assert there.get("/me").status_code == 302


@pytest.mark.parametrize(
    ("current", "new", "field"),
    [("wrong", NEW, "change-current"), (PASSWORD, "short", "change-new")],
)
def test_a_password_that_is_not_taken_is_said_beside_the_field_it_is_about(
    browser: Browser, admin: User, current: str, new: str, field: str
) -> None:
    answer = browser(admin).post("/me/password", {"current": current, "new": new})
    page = answer.content.decode()

    assert answer.status_code == 422
    assert re.findall(r'class="problem" id="([^"]*)_error"', page) == [f"id_{field}"] or (
        f'id="{field}_error"' in page
    )
    assert f'value="{current}"' not in page


def test_the_sixth_wrong_password_within_a_minute_is_told_to_wait(
    browser: Browser, admin: User
) -> None:
    client = browser(admin)
    wrong = {"current": "wrong", "new": NEW}

    tries = [client.post("/me/password", wrong).status_code for _ in range(6)]

    assert tries == [422] * 5 + [429]


def test_a_machine_is_listed_and_can_be_signed_out(browser: Browser, admin: User) -> None:
    here, lost = browser(admin), browser(admin)
    lost.get("/me", headers={"user-agent": "Firefox on Linux"})
    here.get("/me")
    page = here.get("/me").content.decode()
    (revoke,) = re.findall(
        r'action="(/me/machines/ses_[^"]+/revoke)">(?:(?!</form>).)*Firefox on Linux', page, re.S
    )

    here.post(revoke)

    assert "this one" in page
    assert lost.get("/me").status_code == 302
    assert here.get("/me").status_code == 200


def test_every_other_machine_is_signed_out_at_once(browser: Browser, admin: User) -> None:
    here, others = browser(admin), [browser(admin) for _ in range(2)]
    for client in (here, *others):
        client.get("/me")

    here.post("/me/machines/others")

    assert [client.get("/me").status_code for client in others] == [302, 302]
    assert here.get("/me").status_code == 200


# ---- tokens -----------------------------------------------------------------------------------


def test_a_token_is_shown_once_with_what_it_may(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)
    asked = {
        "name": "CI", "where": tenant.uid, "days": "7", "ip_allow": "192.0.2.0/24, 198.51.100.7",
        "scopes": ["config:read", "config:write"],
    }  # fmt: skip

    answer = client.post("/me/tokens", asked)

    (plaintext,) = set(re.findall(r"cg_api_[A-Z2-7]{38}", answer.content.decode()))
    token = ApiToken.objects.get()
    assert "no-store" in answer["cache-control"]
    assert (token.tenant, token.organisation) == (tenant, tenant.organisation)
    assert token.ip_allow == ["192.0.2.0/24", "198.51.100.7/32"]
    assert plaintext not in client.get("/me").content.decode()
    assert f"cg_api_{plaintext[7:15]}…" in client.get("/me").content.decode()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"scopes": []}, "Tick at least one."),
        ({"scopes": ["upstream:write"]}, "not one of the available choices"),
        ({"days": "366"}, "A token lives for 1 to 365 days."),
        ({"ip_allow": "anywhere"}, "is not a network"),
        ({"where": "ten_foreign"}, "not one of the available choices"),
        ({"name": ""}, "Name what will use the token."),
    ],
)
def test_a_token_that_cannot_be_is_refused_in_words(
    browser: Browser, admin: User, tenant: Tenant, changed: dict[str, object], sentence: str
) -> None:
    asked = {"name": "CI", "where": "", "days": "7", "scopes": ["config:read"], **changed}

    answer = browser(admin).post("/me/tokens", asked)

    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_a_viewers_token_is_offered_what_a_viewer_may(
    browser: Browser, viewer: User, tenant: Tenant
) -> None:
    page = browser(viewer).get("/me").content.decode()

    assert re.findall(r'name="scopes" value="([^"]+)"', page) == ["config:read", "telemetry:read"]


def test_an_admin_ends_the_organisations_tokens_and_sees_no_new_one_of_theirs(
    browser: Browser, admin: User, viewer: User, tenant: Tenant
) -> None:
    token, _ = issue_token(viewer, "report", viewer, TokenTerms(organisation=tenant.organisation))
    client = browser(admin)

    page = client.get("/tokens").content.decode()
    rotated = client.post(f"/tokens/{token.uid}/rotate", {"overlap": "0"})
    revoked = client.post(f"/tokens/{token.uid}/revoke")

    token.refresh_from_db()
    assert "viewer@example.com" in page
    assert "Rotate…" not in page
    assert rotated.status_code == 404
    assert revoked["location"] == "/tokens"
    assert token.revoked_at is not None


def test_a_rotated_token_works_on_for_the_overlap(
    browser: Browser, admin: User, client: Client
) -> None:
    token, _ = issue_token(admin, "CI", admin)
    owner = browser(admin)

    answer = owner.post(f"/tokens/{token.uid}/rotate", {"overlap": "24"})

    token.refresh_from_db()
    assert ApiToken.objects.count() == 2
    assert token.revoked_at is None
    assert re.search(r"cg_api_[A-Z2-7]{38}", answer.content.decode())
