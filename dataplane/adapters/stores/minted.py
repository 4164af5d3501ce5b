"""Which tenants of this node minted an id: asked after the answer, for a counter and nothing else.

A marker of one tenant that turns up in a request of another was carried there by somebody. The
request is answered as for any id that nobody knows, and only then is this file asked, in a thread
of its own; it is written behind and best effort. Source: 03-proxy-and-recovery.md 4.3.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dataplane.files import private_database, private_folder

KEPT_ROWS = 1_000_000
MOST_WAITING = 1000
_log = logging.getLogger("headrace.store")
_SCHEMA = """\
PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA busy_timeout=1000;
CREATE TABLE IF NOT EXISTS minted(
  id INTEGER PRIMARY KEY, k TEXT NOT NULL, tenant TEXT NOT NULL, UNIQUE(k, tenant));
"""


class MintedIds:
    """on_foreign: called on the event loop for each id that another tenant had minted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "minted")
        self._file: sqlite3.Connection | None = None
        self._waiting = 0
        self._is_broken = False
        self.on_foreign: Callable[[], None] = lambda: None

    def note(self, tenant: str, ids: Iterable[str]) -> None:
        """The tenant has minted these."""
        rows = [(marker_id, tenant) for marker_id in ids]
        if rows:
            self._later(lambda file: _insert(file, rows))

    def ask(self, tenant: str, marker_id: str) -> None:
        """The tenant asked for an id that it never minted; did another one?"""
        loop = asyncio.get_running_loop()

        def look(file: sqlite3.Connection) -> None:
            sql = "SELECT 1 FROM minted WHERE k = ? AND tenant <> ? LIMIT 1"
            if file.execute(sql, (marker_id, tenant)).fetchone():
                _log.warning("cg.foreign_marker tenant=%s", tenant)
                loop.call_soon_threadsafe(self.on_foreign)

        self._later(look)

    def forget(self, tenant: str) -> None:
        self._later(lambda file: file.execute("DELETE FROM minted WHERE tenant = ?", (tenant,)))

    async def close(self) -> None:
        """Once what waits is written."""
        await asyncio.to_thread(self._thread.shutdown)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _later(self, deed: Callable[[sqlite3.Connection], object]) -> None:
        if self._is_broken or self._waiting >= MOST_WAITING:
            return
        self._waiting += 1
        self._thread.submit(self._do, deed)

    def _do(self, deed: Callable[[sqlite3.Connection], object]) -> None:
        """Called by the thread."""
        try:
            if self._file is None:
                private_folder(self._path.parent)
                private_database(self._path)
                self._file = sqlite3.connect(self._path, check_same_thread=False)
                self._file.executescript(_SCHEMA)
            with self._file:
                deed(self._file)
        except (sqlite3.Error, OSError) as error:
            self._is_broken = True
            _log.warning("cg.minted_ids_unavailable %s: foreign ids are not told apart", error)
        finally:
            self._waiting -= 1


def _insert(file: sqlite3.Connection, rows: list[tuple[str, str]]) -> None:
    file.executemany("INSERT OR IGNORE INTO minted(k, tenant) VALUES(?, ?)", rows)
    file.execute("DELETE FROM minted WHERE id <= (SELECT max(id) FROM minted) - ?", (KEPT_ROWS,))
