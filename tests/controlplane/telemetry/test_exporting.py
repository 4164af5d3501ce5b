"""Records as a file: whose, in which form, told to the trail, without credentials (04 §7, 8.8)."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any, cast

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient, Client

from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.scopes import scope_of_user
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.api import limits
from controlplane.audit.models import AuditEvent
from controlplane.telemetry import exporting, queries
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.queries import RequestFilter
from controlplane.telemetry.queries.export import COLUMNS
from tests.controlplane.conftest import person
from tests.controlplane.telemetry.batches import NOW, batch, row

PATH = "/api/v1/requests/export"
KEY = "sk-ant-api03-" + "q" * 40


@pytest.fixture(autouse=True)
def nobody_has_asked_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "windows", limits.Windows())


@pytest.fixture
def admin_client(admin: User) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def stored(tenant: Tenant, count: int, **changed: Any) -> None:
    rows = [row(n, tenant=tenant.uid, **changed) for n in range(count)]
    ingest(batch(1, rows), received_at=NOW)


def file_of(client: Client, query: str = "") -> bytes:
    answer = client.get(f"{PATH}{query}")
    assert answer.status_code == 200
    return b"".join(answer)


def test_the_trail_says_who_took_which_records_and_what_the_file_was(
    admin_client: Client, admin: User, tenant: Tenant
) -> None:
    stored(tenant, 3)

    text = file_of(admin_client, f"?tenant={tenant.slug}&model=claude")

    begun, finished = AuditEvent.objects.filter(action__startswith="requests.").order_by("seq")
    assert (begun.action, begun.actor_label, begun.via) == (exporting.BEGUN, admin.email, "api")
    assert begun.organisation_uid == tenant.organisation.uid
    assert begun.after == {"format": "ndjson", "filters": {"tenant": tenant.uid, "model": "claude"}}
    digest = hashlib.sha256(text).hexdigest()
    assert finished.after == {"rows": 3, "bytes": len(text), "sha256": digest}
    assert (finished.request_id, finished.via) == (begun.request_id, "api")


def test_a_file_whose_reader_left_is_never_called_finished(admin: User, tenant: Tenant) -> None:
    stored(tenant, 3)
    pieces = exporting.export_of(scope_of_user(admin), RequestFilter(), "csv").pieces()

    next(pieces)
    pieces.close()  # type: ignore[attr-defined]

    actions = AuditEvent.objects.filter(action__startswith="requests.")
    assert [event.action for event in actions] == [exporting.BEGUN]


def test_only_records_of_tenants_that_may_be_exported_are_in_it(
    admin_client: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    ingest(batch(1, [row(1, tenant=tenant.uid), row(2, tenant=other_tenant.uid)]), received_at=NOW)

    lines = file_of(admin_client).splitlines()

    assert [json.loads(line)["tenant_uid"] for line in lines] == [tenant.uid]


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_credential_that_a_client_named_its_session_by_does_not_leave(
    admin_client: Client, tenant: Tenant, form: str
) -> None:
    stored(tenant, 1, session=f"chat {KEY}", model=KEY)

    assert KEY.encode() not in file_of(admin_client, f"?format={form}")


def test_a_table_has_the_rows_that_the_filter_lets_through(
    admin_client: Client, tenant: Tenant
) -> None:
    rows = [row(1, tenant=tenant.uid, outcome="error"), row(2, tenant=tenant.uid)]
    ingest(batch(1, rows), received_at=NOW)

    text = file_of(admin_client, "?format=csv&outcome=error").decode()

    found = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [each["outcome"] for each in found] == ["error"]
    assert set(found[0]) == set(COLUMNS)


@pytest.mark.parametrize("query", ["?format=xlsx", "?since=soon", "?model=" + "m" * 129])
def test_what_cannot_be_meant_is_a_named_refusal(admin_client: Client, query: str) -> None:
    answer = admin_client.get(f"{PATH}{query}")

    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")


def test_a_token_needs_the_scope(admin: User, tenant: Tenant) -> None:
    _, plaintext = issue_token(admin, "ci", admin, TokenTerms(scopes=["telemetry:read"]))

    answer = Client(headers={"authorization": f"Bearer {plaintext}"}).get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (403, "auth.scope_missing")


@pytest.mark.django_db(transaction=True)
def test_a_database_that_cannot_be_read_is_said_and_is_no_empty_file(
    admin_client: Client, tenant: Tenant
) -> None:
    with connections["telemetry"].cursor() as cursor:
        cursor.execute("ALTER TABLE telemetry_requestrecord RENAME TO gone")
    try:
        answer = admin_client.get(PATH)
    finally:
        with connections["telemetry"].cursor() as cursor:
            cursor.execute("ALTER TABLE gone RENAME TO telemetry_requestrecord")

    assert (answer.status_code, answer.json()["code"]) == (503, "telemetry.unreadable")


@pytest.mark.django_db(transaction=True)
async def test_the_first_records_are_sent_before_the_last_are_read(
    admin: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("controlplane.telemetry.queries.export"), "CHUNK", 2)
    await sync_to_async(stored)(tenant, 5)
    client = AsyncClient()
    await sync_to_async(client.force_login)(admin)

    answer = cast(Any, await client.get(PATH))
    pieces = [piece async for piece in cast(AsyncIterator[bytes], answer.streaming_content)]

    assert answer.is_async
    assert [piece.count(b"\n") for piece in pieces] == [2, 2, 1]


@pytest.mark.parametrize(("role", "offered"), [("viewer", False), ("operator", True)])
def test_whoever_may_export_is_offered_what_is_listed_as_a_file(
    organisation: Organisation, tenant: Tenant, role: str, *, offered: bool
) -> None:
    now = queries.Window.last(1).now
    ingest(batch(1, [row(1, tenant=tenant.uid, at=now)]), received_at=now)
    client = Client()
    client.force_login(person(role, organisation))

    page = client.get("/requests?model=claude").content.decode()

    href = f'href="{PATH}?model=claude&amp;format=csv"'
    assert (href in page) is offered
    assert not offered or b"".join(client.get(f"{PATH}?model=claude&format=csv")).count(b"\n") == 2
