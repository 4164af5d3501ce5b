"""Many rows in few statements: the ORM's cost per row is what limits ingestion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connections
from django.db.models import JSONField, Model

from controlplane.databases import TELEMETRY

Row = Mapping[str, Any]


def blank(table: type[Model]) -> dict[str, Any]:
    """What each column holds that nothing is said of, as the database keeps it; without the key."""
    columns = (field for field in table._meta.concrete_fields if not field.primary_key)
    return {
        each.name: json.dumps(each.get_default())
        if isinstance(each, JSONField)
        else each.get_default()
        for each in columns
        if each.has_default() or each.null or each.empty_strings_allowed
    }


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


def add(
    table: type[Model], rows: Sequence[Row], key: Sequence[str], *, replaced: Sequence[str] = ()
) -> None:
    """Add rows to those with the same key; columns as for insert, the same in every row.

    Columns outside the key are sums; those of `replaced` take the new value. In the order of the
    key, so that two writers never wait for each other.
    """
    if not rows:
        return
    name, columns = table._meta.db_table, tuple(rows[0])
    grown = ", ".join(
        f'"{c}" = excluded."{c}"' if c in replaced else f'"{c}" = "{name}"."{c}" + excluded."{c}"'
        for c in columns
        if c not in key
    )
    ordered = sorted(rows, key=lambda row: tuple(row[part] for part in key))
    quoted = ", ".join(f'"{column}"' for column in columns)
    marks = ", ".join(["%s"] * len(columns))
    named = ", ".join(f'"{part}"' for part in key)
    sql = (
        f'INSERT INTO "{name}" ({quoted}) VALUES ({marks}) '  # noqa: S608  names of our own columns
        f"ON CONFLICT ({named}) DO UPDATE SET {grown}"
    )
    with connections[TELEMETRY].cursor() as cursor:
        cursor.executemany(sql, [tuple(row[column] for column in columns) for row in ordered])


def put(table: type[Model], objects: Iterable[Model], key: Sequence[str]) -> None:
    """Write objects whole; one with the same key is replaced. For one writer at a time."""
    fields = [f for f in table._meta.concrete_fields if not f.primary_key]
    rows = [{f.name: f.get_prep_value(getattr(each, f.name)) for f in fields} for each in objects]
    add(table, rows, key, replaced=[f.name for f in fields if f.name not in key])
