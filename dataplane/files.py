"""Files and folders that nobody but their owner reads: texts of conversations, keys, databases.

Whatever the umask, and whatever was there before: a looser mode is taken back.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
_SQLITE = ("", "-wal", "-shm", "-journal")  # the side files take their mode from the database


def private_folder(path: Path) -> Path:
    """The folder, made with those above it where they are absent."""
    for each in (*reversed(path.parents), path):
        with contextlib.suppress(FileExistsError):
            if not each.is_dir():
                each.mkdir(FOLDER)
                each.chmod(FOLDER)
    _tighten(path, FOLDER)
    return path


def private_file(path: Path) -> Path:
    """The file, empty where it was absent."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, FILE))
    _tighten(path, FILE)
    return path


def private_database(path: Path) -> Path:
    """The file of a SQLite database, with those beside it."""
    private_file(path)
    for suffix in _SQLITE[1:]:
        with contextlib.suppress(FileNotFoundError):
            _tighten(path.with_name(path.name + suffix), FILE)
    return path


def _tighten(path: Path, mode: int) -> None:
    """Where it is ours: nobody may change what belongs to somebody else, or to all (/tmp)."""
    found = path.stat()
    is_shared = bool(found.st_mode & stat.S_ISVTX)
    if stat.S_IMODE(found.st_mode) != mode and found.st_uid == os.geteuid() and not is_shared:
        with contextlib.suppress(OSError):  # a disk that knows no modes, or is read-only
            path.chmod(mode)
