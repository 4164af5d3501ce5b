"""Many rows in few statements: the ORM's cost per row is what limits ingestion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connections
from django.db.models import Model

from controlplane.databases import TELEMETRY

Row = Mapping[str, Any]


def insert(table: type[Model], rows: Sequence[Row]) -> None:
    """Rows by column, values as the database keeps them; one that is there already stays."""
    if not rows:
        return
    columns = tuple(rows[0])
    names = ", ".join(f'"{column}"' for column in columns)
    marks = ", ".join(["%s"] * len(columns))
    sql = (
        f'INSERT INTO "{table._meta.db_table}" ({names}) VALUES ({marks}) '  # noqa: S608
        "ON CONFLICT DO NOTHING"  # names of our own columns only
    )
    with connections[TELEMETRY].cursor() as cursor:
        cursor.executemany(sql, [tuple(row[column] for column in columns) for row in rows])


def put(table: type[Model], objects: Iterable[Model], key: Sequence[str]) -> None:
    """Write objects whole; one with the same key is replaced. For one writer at a time."""
    fields = [f.name for f in table._meta.concrete_fields if not f.primary_key]
    table._default_manager.bulk_create(
        objects,
        update_conflicts=True,
        unique_fields=key,
        update_fields=[name for name in fields if name not in key],
    )
