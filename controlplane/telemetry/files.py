"""The telemetry database as a file: somebody may remove it while it is in use."""

from __future__ import annotations

from pathlib import Path

from django.db import connections

from controlplane.databases import TELEMETRY, migrate
from dataplane.files import private_database


class DatabaseFile:
    """Seen by one thread. A removed file would take every write, and nobody could read it."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None

    def ensure(self) -> None:
        """The file that is open is the one with the name; a removed one is made anew, empty."""
        path = path_of_database()
        if path is None:
            return
        now = identity(path)
        if now is not None and now == self._seen:
            return
        connections[TELEMETRY].close()
        if now is None or self._seen is not None or not path.stat().st_size:
            private_database(path)
            migrate(TELEMETRY)
        self._seen = identity(path)


def path_of_database() -> Path | None:
    """None for a server's database."""
    connection = connections[TELEMETRY]
    if connection.vendor != "sqlite":
        return None
    return Path(str(connection.settings_dict["NAME"]))


def identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def bytes_used(path: Path) -> int:
    """With the log of what is not in the main file yet."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(each.stat().st_size for each in files if each.exists())
