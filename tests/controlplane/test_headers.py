"""What every page carries (04 §8.1, 8.2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from controlplane.accounts.models import User
from controlplane.audit.models import AuditEvent
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


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 302), ("none", 302), (None, 302), ("same-site", 403), ("cross-site", 403)],
)
def test_a_change_that_another_site_asks_for_is_refused(
    manager: User, site: str | None, status: int
) -> None:
    client = Client()
    client.force_login(manager)
    headers = {"sec-fetch-site": site} if site else {}

    answer = client.post("/theme", {"theme": "dark"}, headers=headers)

    assert answer.status_code == status
    assert client.get("/me", headers=headers).status_code == 200


def test_a_refused_path_writes_one_line_of_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.cookies["cg_session"] = "x"
    client.post("/a%0aWARNING forged", headers={"sec-fetch-site": "cross-site"})

    assert caplog.messages == ["cp.cross_site_write method=POST path=/a%0AWARNING%20forged"]


@pytest.mark.parametrize(
    "path", ["/audit?before={}", "/prices?version={}", "/sessions?after={}.a.b"]
)
@pytest.mark.parametrize("digits", [30, 5_000])
def test_more_digits_than_a_number_has_are_no_number(manager: User, path: str, digits: int) -> None:
    client = Client()
    client.force_login(manager)

    assert client.get(path.format("9" * digits)).status_code in (200, 404)


@pytest.mark.parametrize("path", ["/api/v1/tenants?token={}", "/tenants/{}", "/login?next=/{}"])
@pytest.mark.parametrize("credential", ["cg_api_" + "A" * 38, "cg_live_" + "A" * 26])
def test_a_credential_in_an_address_is_refused_and_named_without_its_text(
    client: Client, caplog: pytest.LogCaptureFixture, path: str, credential: str
) -> None:
    answer = client.get(path.format(credential))

    assert answer.status_code == 400
    assert answer.content.startswith(b"request.token_in_url")
    assert "cp.token_in_url" in caplog.text
    assert credential not in answer.content.decode() + caplog.text


@pytest.mark.parametrize(
    ("peer", "forwarded", "seen"),
    [
        ("10.0.0.9", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.9", "203.0.113.5, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.9", "not an address", "10.0.0.9"),
        ("10.0.0.9", "", "10.0.0.9"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
    ],
)
def test_only_a_named_proxy_is_believed_and_only_its_own_word(
    manager: User, settings: Any, peer: str, forwarded: str, seen: str
) -> None:
    settings.TRUSTED_PROXIES = ("10.0.0.0/8",)
    client = Client(REMOTE_ADDR=peer, headers={"x-forwarded-for": forwarded} if forwarded else {})

    client.post("/login", {"email": manager.email, "password": PASSWORD})

    opened = AuditEvent.objects.get(action="session.open")
    assert (opened.ip, opened.after) == (seen, {"address": seen})
