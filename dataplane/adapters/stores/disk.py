"""How much room the disk of a node's state has, and whether it is a disk of this machine.

Source: 03-proxy-and-recovery.md 5.4, 5.6. Live originals are never deleted for space.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

REFUSES_AT = 0.9
RENEWS_BELOW = 0.95
NODE_MAX_BYTES = 50 << 30
_MEASURED_EVERY_S = 10.0
_MOUNTS = Path("/proc/self/mountinfo")
_REMOTE = re.compile(r"nfs\d?|cifs|smb\w*|afs|ncpfs|fuse\.(sshfs|s3fs|rclone|glusterfs)|9p")
_OCTAL = re.compile(r"\\([0-7]{3})")


class NetworkFileSystemError(RuntimeError):
    """The state directory is on a file system whose locks and memory maps SQLite cannot trust."""


def disk_used(path: Path) -> float:
    """The used share (0 to 1) of the file system that `path` is on."""
    usage = shutil.disk_usage(path)
    return usage.used / (usage.used + usage.free)


class Disk:
    """Asked by the writer thread. used: gives the used share (0 to 1) for a path. max_bytes: what
    all tenants' files may take together.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        used: Callable[[Path], float] = disk_used,
        max_bytes: int = NODE_MAX_BYTES,
        measured_every_s: float = _MEASURED_EVERY_S,
    ) -> None:
        self._state_dir, self._used, self._max_bytes = state_dir, used, max_bytes
        self._measured_every_s = measured_every_s
        self._bytes, self._measure_at = 0, 0.0

    @property
    def admits(self) -> bool:
        """False from REFUSES_AT on, and when the node's budget is spent: no new originals."""
        return self._used(self._state_dir) < REFUSES_AT and self._taken() < self._max_bytes

    @property
    def renews(self) -> bool:
        """False when even the writing of renewals must stop."""
        return self._used(self._state_dir) < RENEWS_BELOW

    def _taken(self) -> int:
        if time.monotonic() >= self._measure_at:
            self._bytes = bytes_below(self._state_dir / "tenants")
            self._measure_at = time.monotonic() + self._measured_every_s
        return self._bytes


def bytes_below(directory: Path) -> int:
    """The size of every tenant's files, damaged ones that were moved aside included."""
    total = 0
    for tenant in os.scandir(directory) if directory.is_dir() else ():
        if tenant.is_dir():
            total += sum(entry.stat().st_size for entry in os.scandir(tenant) if entry.is_file())
    return total


def is_for_want_of_room(error: BaseException) -> bool:
    """True when a write failed because the disk did not take it."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


def require_local(path: Path) -> None:
    """Raises NetworkFileSystemError for a directory that lies on another machine's disk."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # not Linux
        return
    kind = file_system_of(path.resolve(), mounts)
    if _REMOTE.fullmatch(kind):
        raise NetworkFileSystemError(
            f"HEADRACE_STATE_DIR is on a {kind} file system; the store needs a local disk."
        )


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system that holds an absolute path. mounts: as /proc has them."""
    found, depth = "", -1
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = Path(_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields.split(" ")[4]))
        if path.is_relative_to(point) and len(point.parts) >= depth:
            found, depth = rest.split(" ")[0], len(point.parts)
    return found
