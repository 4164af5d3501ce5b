"""Signing in and out, and the theme (04 §8.1 and 8.9)."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.accounts.models import User
from controlplane.ui.accounts.signin import NO_MATCH, TOO_MANY
from tests.controlplane.conftest import PASSWORD
from tests.controlplane.ui.conftest import Browser


def post(client: Client, email: str, password: str, **more: str) -> tuple[int, str, str]:
    """Status, body and where it leads."""
    answer = client.post("/login", {"email": email, "password": password, **more})
    return answer.status_code, answer.content.decode(), answer.get("location", "")


def test_a_page_asks_for_a_sign_in_first_and_is_shown_after_it(client: Client, admin: User) -> None:
    assert client.get("/tenants")["location"] == "/login?next=/tenants"

    status, _, location = post(client, admin.email, PASSWORD, next="/tenants")

    assert (status, location) == (302, "/tenants")
    assert client.get("/tenants").status_code == 200


def test_signing_in_starts_a_session_of_another_name(client: Client, admin: User) -> None:
    client.get("/login")
    session = client.session
    session["before"] = "yes"
    session.save()
    before = session.session_key

    post(client, admin.email, PASSWORD)

    assert client.session.session_key != before


def test_a_wrong_password_and_an_unknown_address_read_the_same(client: Client, admin: User) -> None:
    wrong, unknown = post(client, admin.email, "wrong"), post(client, "x@example.com", "wrong")

    assert wrong[0] == unknown[0] == 422
    assert NO_MATCH in wrong[1]
    assert NO_MATCH in unknown[1]
    assert 'value="wrong"' not in wrong[1]


def test_the_sixth_try_within_a_minute_is_told_to_wait(client: Client, admin: User) -> None:
    tries = [post(client, admin.email, "wrong") for _ in range(5)]
    status, body, _ = post(client, admin.email, PASSWORD)

    assert [found[0] for found in tries] == [422] * 5
    assert status == 429
    assert TOO_MANY in body


@pytest.mark.parametrize(
    "wanted",
    [
        "https://elsewhere.example/",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "javascript:alert(1)",
        "tenants",
        "",
    ],
)
def test_only_a_path_of_ours_is_gone_on_to(client: Client, admin: User, wanted: str) -> None:
    assert post(client, admin.email, PASSWORD, next=wanted)[2] == "/"


def test_signing_out_takes_a_post_and_ends_the_session(browser: Browser, admin: User) -> None:
    client = browser(admin)

    assert client.get("/logout").status_code == 405
    assert client.post("/logout")["location"] == "/login"
    assert client.get("/")["location"].startswith("/login")


def test_a_manager_stays_signed_in_for_twelve_hours(client: Client, manager: User) -> None:
    post(client, manager.email, PASSWORD)

    assert client.session.get_expiry_age() == 12 * 3600


def test_the_theme_works_before_the_sign_in(client: Client, db: None) -> None:
    assert "data-theme" not in client.get("/login").content.decode()

    client.post("/theme", {"theme": "dark", "next": "/login"})

    assert '<html lang="en" data-theme="dark">' in client.get("/login").content.decode()
    assert '<html lang="en" data-theme="dark">' in client.get("/nowhere").content.decode()


def test_the_theme_is_kept_for_the_person_on_every_machine(browser: Browser, admin: User) -> None:
    browser(admin).post("/theme", {"theme": "light", "next": "/tenants"})

    assert 'data-theme="light"' in browser(admin).get("/").content.decode()


def test_as_the_system_forces_no_theme(browser: Browser, admin: User) -> None:
    client = browser(admin)
    client.post("/theme", {"theme": "dark"})
    client.post("/theme", {"theme": "auto"})

    assert "data-theme" not in client.get("/").content.decode()


def test_an_unknown_theme_is_refused(client: Client, db: None) -> None:
    assert client.post("/theme", {"theme": "neon"}).status_code == 400


def test_every_form_is_refused_without_its_token(admin: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin)

    answer = strict.post("/logout")

    assert answer.status_code == 403
    assert "This form could not be matched to your session." in answer.content.decode()
