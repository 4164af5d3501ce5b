"""Many rows in few statements: the ORM's cost per row is what limits ingestion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from django.db import connections
from django.db.models import JSONField, Model

from controlplane.databases import TELEMETRY

Row = Mapping[str, Any]
ROWS_AT_ONCE = (64, 8, 1)


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
    if rows:
        _execute(table, rows, "ON CONFLICT DO NOTHING")


def add(
    table: type[Model], rows: Sequence[Row], key: Sequence[str], *, replaced: Sequence[str] = ()
) -> None:
    """Add rows to those with the same key; columns as for insert, the same in every row.

    Columns outside the key are sums; those of `replaced` take the new value. In the order of the
    key, which no two rows share, so that two writers never wait for each other.
    """
    if not rows:
        return
    name = table._meta.db_table
    grown = ", ".join(
        f'"{c}" = excluded."{c}"' if c in replaced else f'"{c}" = "{name}"."{c}" + excluded."{c}"'
        for c in rows[0]
        if c not in key
    )
    named = ", ".join(f'"{part}"' for part in key)
    ordered = sorted(rows, key=itemgetter(*key))
    _execute(table, ordered, f"ON CONFLICT ({named}) DO UPDATE SET {grown}")


def put(table: type[Model], objects: Iterable[Model], key: Sequence[str]) -> None:
    """Write objects whole; one with the same key is replaced. For one writer at a time."""
    fields = [f for f in table._meta.concrete_fields if not f.primary_key]
    named = {tuple(getattr(each, part) for part in key): each for each in objects}  # the last one
    rows = [
        {f.name: f.get_prep_value(getattr(each, f.name)) for f in fields} for each in named.values()
    ]
    add(table, rows, key, replaced=[f.name for f in fields if f.name not in key])


def _execute(table: type[Model], rows: Sequence[Row], conflict: str) -> None:
    """Many rows a statement: each one gives the interpreter away, and under load it waits a
    millisecond to get it back. Of few sizes, so that a connection knows the statements, and all of
    one size together, so that a statement is written once.
    """
    columns = tuple(rows[0])
    names = ", ".join(f'"{column}"' for column in columns)
    marks = f"({', '.join(['%s'] * len(columns))})"
    values = list(map(itemgetter(*columns), rows))
    done = 0
    with connections[TELEMETRY].cursor() as cursor:
        for size in ROWS_AT_ONCE:
            sql = (
                f'INSERT INTO "{table._meta.db_table}" ({names}) '  # noqa: S608  our own names only
                f"VALUES {', '.join([marks] * size)} {conflict}"
            )
            statements = (len(values) - done) // size
            parts = (values[done + n * size : done + (n + 1) * size] for n in range(statements))
            if statements:
                cursor.executemany(sql, [[*chain.from_iterable(part)] for part in parts])
                done += statements * size
