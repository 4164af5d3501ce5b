"""Bring the databases up to this release, one process at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command

from controlplane.databases import DEFAULT, TELEMETRY, Turn, in_turn
from controlplane.settings.environment import private_file


def migrate() -> None:
    """Both databases; the telemetry one is made anew where somebody removed it."""
    for alias in (DEFAULT, TELEMETRY):
        call_command("migrate", database=alias, verbosity=0, interactive=False)


@contextmanager
def set_up_alone(data_dir: Path) -> Iterator[None]:
    """Hold back other processes that set this data directory, or a server's database, up; a
    killed one lets go.
    """
    with private_file(data_dir / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with in_turn(Turn.SET_UP, DEFAULT):
            yield
