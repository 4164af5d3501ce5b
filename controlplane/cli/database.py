"""Bring the databases up to this release, one process at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from django.db.migrations.loader import MigrationLoader

from controlplane.databases import DEFAULT, TELEMETRY, Turn, in_turn
from dataplane.files import private_file


def migrate() -> None:
    """Both databases; the telemetry one is made anew where somebody removed it."""
    for alias in (DEFAULT, TELEMETRY):
        refuse_newer(alias)
        call_command("migrate", database=alias, verbosity=0, interactive=False)


def refuse_unreachable() -> None:
    for alias in (DEFAULT, TELEMETRY):
        try:
            connections[alias].ensure_connection()
        except OperationalError as problem:
            said = f"The {alias} database cannot be opened: {problem}"
            raise CommandError(said.strip()) from problem


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
    killed one lets go.
    """
    with private_file(data_dir / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refuse_unreachable()
        with in_turn(Turn.SET_UP, DEFAULT):
            yield
