"""Bring the databases up to this release, one process at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import CommandError
from django.db import DatabaseError, connections
from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader

from controlplane.cli.failing import UnusableError, said_in_a_line
from controlplane.databases import DEFAULT, TELEMETRY, Turn, in_turn, migrate
from dataplane.files import private_file


def migrate_both() -> None:
    """The telemetry one is made anew where somebody removed it."""
    for alias in (DEFAULT, TELEMETRY):
        refuse_newer(alias)
        migrate(alias)


def refuse_unusable() -> None:
    """A database that cannot be reached, is damaged, or takes no write."""
    for alias in (DEFAULT, TELEMETRY):
        try:
            with connections[alias].cursor() as cursor:
                if connections[alias].vendor == "sqlite":
                    _try_file(cursor)
        except DatabaseError as problem:
            said = " ".join(str(problem).split())
            raise CommandError(f"The {alias} database cannot be used: {said}.") from problem


def _try_file(cursor: CursorWrapper) -> None:
    cursor.execute("PRAGMA schema_version")
    if cursor.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise DatabaseError("it is damaged; put a copy in its place, or take it away")
    if not cursor.db.in_atomic_block:  # then it writes already
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")


def refuse_newer(alias: str) -> None:
    """This release would read and write tables that it does not know."""
    loader = MigrationLoader(connections[alias])
    applied = loader.applied_migrations or {}
    unknown = sorted(
        f"{app}.{name}"
        for app, name in applied
        if app in loader.migrated_apps and (app, name) not in loader.disk_migrations
    )
    if unknown:
        raise CommandError(
            f"The {alias} database belongs to a newer release, which added {', '.join(unknown)}. "
            "Start that release, or go back to a copy from before it."
        )


@contextmanager
def set_up_alone(data_dir: Path) -> Iterator[None]:
    """Hold back other processes that set this data directory, or a server's database, up; a
    killed one lets go. CommandError for what cannot be used, found meanwhile, too.
    """
    try:
        with said_in_a_line(), private_file(data_dir / "setup.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            refuse_unusable()
            with in_turn(Turn.SET_UP, DEFAULT):
                yield
    except UnusableError as problem:
        raise CommandError(str(problem)) from problem
