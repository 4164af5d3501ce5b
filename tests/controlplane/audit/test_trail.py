"""The trail and the versions are written once: the database itself refuses (04 §1.8)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet

from controlplane.accounts.models import Tenant
from controlplane.audit.models import AuditEvent
from controlplane.audit.queries import Filters, actions, matching
from controlplane.configs.models import ConfigVersion, EffectiveRevision
from controlplane.immutability import SQLITE

WRITTEN_ONCE = [AuditEvent, ConfigVersion, EffectiveRevision]


@pytest.mark.parametrize("model", WRITTEN_ONCE)
def test_a_row_cannot_be_changed_through_the_models(
    tenant: Tenant, model: type[AuditEvent | ConfigVersion | EffectiveRevision]
) -> None:
    with pytest.raises(DatabaseError, match="written once"), transaction.atomic():
        model._default_manager.update(uid="changed")


@pytest.mark.parametrize("model", WRITTEN_ONCE)
def test_a_row_cannot_be_changed_by_plain_sql(
    tenant: Tenant, model: type[AuditEvent | ConfigVersion | EffectiveRevision]
) -> None:
    with (
        pytest.raises(DatabaseError, match="written once"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"UPDATE {model._meta.db_table} SET uid = 'changed'")  # noqa: S608


def test_a_deleted_row_is_refused_by_the_same_trigger(tmp_path: Path) -> None:
    """On a table of its own: the test database does without, so that it can be emptied."""
    with sqlite3.connect(tmp_path / "once.sqlite3") as database:
        database.execute("CREATE TABLE once (x)")
        database.execute("INSERT INTO once VALUES (1)")
        database.execute(SQLITE.format(table="once", event="delete"))

        with pytest.raises(sqlite3.IntegrityError, match="written once"):
            database.execute("DELETE FROM once")


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        pytest.param(lambda: actions(None), "trail_actions", id="what was done"),
        pytest.param(lambda: actions(["org_1"]), "trail_actions", id="what was done there"),
        pytest.param(
            lambda: matching(["org_1"], Filters()).order_by("-seq")[:51],
            "trail_of_an_organisation",
            id="the newest events there",
        ),
    ],
)
def test_a_page_of_the_trail_reads_no_more_of_it_than_it_shows(
    db: None, asked: Callable[[], QuerySet[Any, Any]], index: str
) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # so small a table it would read whole
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")

    assert index in asked().explain()
