"""Tables whose rows are written once: the database refuses, not only our code (04 §1.8).

SQLite drops a table's triggers when a migration rebuilds it: such a migration repeats this one.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations

SQLITE = """
CREATE TRIGGER {table}_no_{event} BEFORE {event} ON {table}
BEGIN SELECT RAISE(ABORT, '{table} is written once'); END
"""
POSTGRES = """
CREATE FUNCTION {table}_refuse_{event}() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{table} is written once'; END $$;
CREATE TRIGGER {table}_no_{event} BEFORE {event} ON {table}
FOR EACH ROW EXECUTE FUNCTION {table}_refuse_{event}()
"""
SQLITE_DROP = "DROP TRIGGER {table}_no_{event}"
POSTGRES_DROP = "DROP TRIGGER {table}_no_{event} ON {table}; DROP FUNCTION {table}_refuse_{event}()"
EVENTS = ("update", "delete")


def write_once(table: str) -> migrations.RunPython:
    """A migration step after which rows of the table can be neither changed nor deleted."""
    return migrations.RunPython(
        _each_event(table, SQLITE, POSTGRES), _each_event(table, SQLITE_DROP, POSTGRES_DROP)
    )


def rewritable(table: str) -> migrations.RunPython:
    """A migration step that lifts the rule, for one that rewrites the table and sets it again."""
    return migrations.RunPython(
        _each_event(table, SQLITE_DROP, POSTGRES_DROP), _each_event(table, SQLITE, POSTGRES)
    )


def _each_event(table: str, sqlite: str, postgres: str) -> Any:
    def run(_apps: Any, editor: Any) -> None:
        text = sqlite if editor.connection.vendor == "sqlite" else postgres
        for event in EVENTS:
            editor.execute(text.format(table=table, event=event))

    return run
