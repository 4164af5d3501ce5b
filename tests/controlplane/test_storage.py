"""A full disk, or a database that takes nothing: said by name, while reads go on."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connections
from django.test import Client
from django.utils import timezone

from controlplane.accounts.models import ApiToken, Tenant, User, WebSession
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.cli.failing import UnusableError, said_in_a_line
from controlplane.storage import FULL, UNUSABLE, Trouble, trouble_of
from tests.controlplane.conftest import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


@contextmanager
def refusing(said: str) -> Iterator[None]:
    """Every write of this thread fails as SQLite and PostgreSQL fail it."""

    def look(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        if sql.lstrip().upper().startswith(WRITES):
            raise OperationalError(said)
        return execute(sql, *more)

    default, telemetry = connections["default"], connections["telemetry"]
    with default.execute_wrapper(look), telemetry.execute_wrapper(look):
        yield


@pytest.fixture
def browser(admin: User) -> Client:
    found = Client(raise_request_exception=False)
    found.post("/login", {"email": admin.email, "password": PASSWORD})
    found.get("/")
    WebSession.objects.update(last_seen_at=timezone.now() - timedelta(hours=1))
    return found


@pytest.fixture
def bearer(admin: User) -> dict[str, str]:
    terms = TokenTerms(scopes=["config:read", "key:write"])
    _, token = issue_token(admin, "ci", admin, terms)
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(hours=1))
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("database or disk is full", FULL),
        ('could not extend file "base/1": No space left on device', FULL),
        ("database is locked", UNUSABLE),
        ("attempt to write a readonly database", UNUSABLE),
    ],
)
def test_a_page_and_the_api_say_what_was_not_saved_and_why(
    browser: Client, bearer: dict[str, str], tenant: Tenant, said: str, trouble: Trouble
) -> None:
    program = Client(raise_request_exception=False)
    with refusing(said):
        page = browser.post(f"/tenants/{tenant.slug}/keys", {"label": "laptop"})
        answer = program.post(
            f"/api/v1/tenants/{tenant.uid}/keys",
            {"label": "ci"},
            "application/json",
            headers={**bearer, "idempotency-key": "a-key-of-this-test"},
        )

    assert page.status_code == trouble.status, page.content[:300]
    assert trouble.fact in page.content.decode()
    assert (answer.status_code, answer.headers["content-type"]) == (
        trouble.status,
        "application/problem+json",
    )
    assert answer.json()["code"] == trouble.code


def test_what_is_stored_can_be_read_meanwhile(
    browser: Client, bearer: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with refusing("database or disk is full"):
        pages = [browser.get(path) for path in ("/", "/requests", "/tenants", "/connect")]
        program = Client().get("/api/v1/me", headers=bearer)

    assert [page.status_code for page in pages] == [200] * 4
    assert program.status_code == 200
    assert caplog.text.count("cp.not_noted") >= 2


def test_a_fault_of_ours_is_none_of_the_disks() -> None:
    assert trouble_of(OSError(errno.ENOSPC, "No space left on device")) is FULL
    assert trouble_of(DatabaseError("file is not a database")) is UNUSABLE
    for ours in (None, ValueError(), IntegrityError("disk is full"), OSError(errno.ENOENT, "x")):
        assert trouble_of(ours) is None


def test_a_command_says_it_in_a_line_and_lets_faults_of_ours_be_seen() -> None:
    for problem in (OSError(errno.EROFS, "Read-only file system"), OperationalError("no\n  such")):
        with pytest.raises(UnusableError) as said, said_in_a_line():
            raise problem
        assert "\n" not in str(said.value)
    with pytest.raises(KeyError), said_in_a_line():
        raise KeyError("x")
