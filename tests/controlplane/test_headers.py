"""What every page carries (04 sections 8.1, 8.2)."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.accounts.models import User
from tests.controlplane.conftest import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ],
)
def test_a_page_carries_the_header(client: Client, header: str, value: str) -> None:
    assert client.get("/login").headers[header] == value


def test_the_content_security_policy_allows_this_origin_alone(client: Client) -> None:
    policy = client.get("/login").headers["Content-Security-Policy"]

    assert set(policy.split("; ")) == {
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "object-src 'none'",
    }


def test_the_session_cookie_is_ours_lax_and_closed_to_scripts(
    client: Client, manager: User
) -> None:
    client.post("/login", {"email": manager.email, "password": PASSWORD})

    cookie = client.cookies["cg_session"]
    assert (cookie["samesite"], cookie["httponly"]) == ("Lax", True)


def test_a_foreign_host_is_refused(client: Client) -> None:
    assert client.get("/login", headers={"host": "evil.example"}).status_code == 400


def test_a_form_without_its_token_is_refused(manager: User) -> None:
    strict = Client(enforce_csrf_checks=True)

    answer = strict.post("/login", {"email": manager.email, "password": PASSWORD})
    assert answer.status_code == 403
