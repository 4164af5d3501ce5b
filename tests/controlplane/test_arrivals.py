"""What a request brings: identifier, origin, principal (04 §6.1, 8.2)."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client, RequestFactory

from controlplane.accounts.models import Tenant, User
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.arrivals import scope_of_request
from controlplane.audit.models import AuditEvent
from tests.controlplane.conftest import PASSWORD


@pytest.mark.parametrize(
    ("given", "kept"),
    [("deploy-2026-11", True), ("short", False), ("x" * 65, False), ("with space", False)],
)
def test_a_well_formed_request_id_is_kept_and_any_other_is_replaced(
    db: None, given: str, *, kept: bool
) -> None:
    found = Client().get("/login", headers={"x-request-id": given})["x-request-id"]

    assert (found == given) is kept
    assert re.fullmatch(r"[A-Za-z0-9-]{8,64}", found)


def test_what_a_request_changes_is_recorded_with_where_it_came_from(admin: User) -> None:
    Client().post(
        "/login",
        {"email": admin.email, "password": PASSWORD},
        headers={"x-request-id": "abcdefgh"},
        REMOTE_ADDR="192.0.2.9",
    )

    event = AuditEvent.objects.get(action="session.open")
    assert (event.via, event.ip, event.request_id) == ("ui", "192.0.2.9", "abcdefgh")


def request_with(user: User | AnonymousUser, token: str = "", cookie: str = "") -> WSGIRequest:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = RequestFactory().get("/", headers=headers)
    request.user = user
    if cookie:
        request.COOKIES["cg_session"] = cookie
    return request


def test_a_bearer_token_stands_for_its_maker(tenant: Tenant, admin: User) -> None:
    token, plaintext = issue_token(admin, "ci", admin, TokenTerms(scopes=["config:read"]))

    scope = scope_of_request(request_with(AnonymousUser(), plaintext))

    assert scope.principal is not None
    assert scope.principal.token == token
    assert scope.may("config:read", tenant)
    assert not scope.may("config:write", tenant)


def test_a_token_beside_a_session_cookie_is_ignored(
    tenant: Tenant, admin: User, manager: User
) -> None:
    _, plaintext = issue_token(manager, "ci", manager)

    with_session = scope_of_request(request_with(admin, plaintext, cookie="x"))
    with_dead_session = scope_of_request(request_with(AnonymousUser(), plaintext, cookie="x"))

    assert with_session.principal is not None
    assert with_session.principal.user == admin
    assert with_dead_session.principal is None


def test_a_wrong_token_is_nobody_and_no_token_is_the_session(admin: User) -> None:
    assert scope_of_request(request_with(AnonymousUser(), "cg_api_WRONG")).principal is None
    assert scope_of_request(request_with(AnonymousUser())).principal is None


def test_a_scope_is_built_once_per_request(
    tenant: Tenant, admin: User, django_assert_num_queries: object
) -> None:
    request = request_with(admin)
    first = scope_of_request(request)

    with django_assert_num_queries(0):  # type: ignore[operator]
        assert scope_of_request(request) is first
