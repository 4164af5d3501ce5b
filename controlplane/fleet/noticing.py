"""Whether somebody wrote to a database, at the cost of no query (03 §9.4).

SQLite counts the commits of other connections, of this process and of others alike: a connection
that never writes reads that number in some microseconds, and misses nothing. A server's database
has no such number, and is looked at instead.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from django.db import connections

from controlplane.databases import DEFAULT, TELEMETRY

Seen = tuple[int, int, int]  # the file by device and number, and its count of commits


class _File:
    """One database file. It may be removed and made anew while it is watched."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None

    def seen(self) -> Seen | None:
        """None for a file that cannot be read, which is no reason to believe that it is still."""
        try:
            found = self._path.stat()
            connection = self._open((found.st_dev, found.st_ino))
            (commits,) = connection.execute("PRAGMA data_version").fetchone()
        except (OSError, sqlite3.Error):
            self.close()
            return None
        return found.st_dev, found.st_ino, commits

    def _open(self, identity: tuple[int, int]) -> sqlite3.Connection:
        if self._connection is None or identity != self._opened:
            self.close()
            self._connection = sqlite3.connect(
                f"{self._path.as_uri()}?mode=ro", uri=True, check_same_thread=False
            )
            self._opened = identity
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None


class Noticing:
    """The databases since the last time somebody asked. Asked by one thread at a time."""

    def __init__(self) -> None:
        self._files: list[_File] | None = None
        self._last: list[Seen | None] = []

    def is_still(self) -> bool:
        """Nobody wrote since this was asked last; False where that cannot be known."""
        if self._files is None:
            self._files = [_File(path) for path in _paths()]
        now = [file.seen() for file in self._files]
        last, self._last = self._last, now
        return bool(now) and now == last and None not in now

    @property
    def costs_a_look(self) -> bool:
        """There is no count to ask, so that asking often would be looking often."""
        return self._files == []

    def close(self) -> None:
        for file in self._files or ():
            file.close()
        self._files = None


def _paths() -> list[Path]:
    """None unless both databases are files."""
    both = [connections[alias] for alias in (DEFAULT, TELEMETRY)]
    if any(each.vendor != "sqlite" for each in both):
        return []
    return [Path(str(each.settings_dict["NAME"])).absolute() for each in both]
