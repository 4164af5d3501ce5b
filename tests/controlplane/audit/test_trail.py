"""The trail and the versions are written once: the database itself refuses (04 section 1.8)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from django.db import DatabaseError, connection, transaction

from controlplane.accounts.models import Tenant
from controlplane.audit.models import AuditEvent
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
