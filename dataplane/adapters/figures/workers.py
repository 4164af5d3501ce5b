"""The counters of all workers of one host, through files in the state directory they share.

Each worker replaces its own file every two seconds and reads the others' when it is asked for
the host. A worker that ended, or was killed, leaves its file: what it counted goes on counting,
so that totals do not fall when a supervisor replaces a worker. The files end with the last
living worker: whoever starts, or stops, and finds nobody else alive removes them.

Who lives is told by a lock that ends with its process, because a process id says nothing across
containers that share a directory.
"""

from __future__ import annotations

import fcntl
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from dataplane.adapters.figures.sheets import Sheet, Workers, decode, encode
from dataplane.files import private_file, private_folder

log = logging.getLogger("headrace.workers")
STALE_S = 15.0


class WorkerBoard:
    """One directory, one file per worker. Every method blocks: call it in a thread."""

    def __init__(self, directory: Path, boot_id: str) -> None:
        self._directory = directory
        self._boot_id = boot_id
        self._failing = False
        self._sign = -1  # descriptor of the lock

    def open(self) -> None:
        """Begin anew when no worker lives whose counters would be cut short."""
        try:
            private_folder(self._directory)
            lock = private_file(self._lock_of(self._boot_id))
            self._sign = os.open(lock, os.O_WRONLY)
            fcntl.flock(self._sign, fcntl.LOCK_EX)
        except OSError as error:
            self._report(error)
        self._clear_unless_others_live()

    def publish(self, sheet: Sheet) -> None:
        """Replace this worker's file. A disk that refuses costs the sums and nothing else."""
        target = self._directory / f"{self._boot_id}.json"
        try:
            number, name = tempfile.mkstemp(dir=self._directory, prefix=".")
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(encode(sheet))
                Path(name).replace(target)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._failing = False
        except OSError as error:
            self._report(error)

    def close(self, sheet: Sheet) -> None:
        """Leave the last counts to the workers that stay; the last one takes all files away."""
        self.publish(replace(sheet, is_stopped=True))
        if self._sign >= 0:
            os.close(self._sign)
            self._lock_of(self._boot_id).unlink(missing_ok=True)
        self._clear_unless_others_live()

    def read(self) -> Workers:
        now = time.time()
        sheets = [sheet for _, sheet in self._sheets() if sheet is not None]
        living = [sheet for sheet in sheets if self._lives(sheet, now)]
        gone = [sheet for sheet in sheets if not self._lives(sheet, now)]
        return Workers(tuple(living), tuple(gone))

    def _clear_unless_others_live(self) -> None:
        found = [path for path, _ in self._sheets()]
        others = [path for path in self._directory.glob("*.lock") if path.stem != self._boot_id]
        if any(_is_held(path) for path in others):
            return
        for path in (*found, *others):
            path.unlink(missing_ok=True)

    def _lock_of(self, boot_id: str) -> Path:
        return self._directory / f"{boot_id}.lock"

    def _sheets(self) -> Iterator[tuple[Path, Sheet | None]]:
        """Every file, with None for one that cannot be read."""
        for path in sorted(self._directory.glob("*.json")):
            try:
                yield path, decode(path.read_bytes(), Sheet)
            except (OSError, msgspec.MsgspecError, TypeError):
                yield path, None

    def _lives(self, sheet: Sheet, now: float) -> bool:
        if sheet.boot_id == self._boot_id:
            return not sheet.is_stopped
        is_fresh = not sheet.is_stopped and now - sheet.at < STALE_S
        return is_fresh and _is_held(self._lock_of(sheet.boot_id))

    def _report(self, error: OSError) -> None:
        if not self._failing:
            log.warning("cg.worker_sheet_not_written %s", error.strerror)
        self._failing = True


def _is_held(lock: Path) -> bool:
    """Whether the process that made the file lives; a directory that knows no locks says yes."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
