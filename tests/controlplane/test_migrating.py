"""Each database is brought up to the release by the migrations that make its tables."""

from __future__ import annotations

import pytest
from django.db.migrations.recorder import MigrationRecorder

from controlplane.databases import DEFAULT, TELEMETRY, migrate, waiting_migrations

APPLIED = MigrationRecorder.Migration


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("alias", "app", "waiting"),
    [
        (DEFAULT, "accounts", True),
        (TELEMETRY, "telemetry", True),
        (TELEMETRY, "accounts", False),
    ],
)
def test_a_database_waits_for_migrations_that_make_tables_in_it(
    alias: str, app: str, *, waiting: bool
) -> None:
    assert waiting_migrations(alias) == 0

    removed, _ = APPLIED.objects.using(alias).filter(app=app).delete()

    assert removed
    assert bool(waiting_migrations(alias)) is waiting


@pytest.mark.django_db
def test_migrating_the_telemetry_database_leaves_other_apps_out_of_it() -> None:
    applied = APPLIED.objects.using(TELEMETRY).exclude(app=TELEMETRY)
    applied.delete()

    migrate(TELEMETRY)

    assert not applied.exists()
