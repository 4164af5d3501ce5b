"""The last good resources on disk, so that a node starts and serves without its control plane.

A resource is one file: its envelope on the first line, the exact body after it. Three versions
are kept. Source: 03-proxy-and-recovery.md 9.5.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dataplane.core.config.resource import Envelope, Resource, hash_of

log = logging.getLogger("headrace.snapshots")
KEPT = 3
_FILE = re.compile(r"(?P<name>[A-Za-z0-9_-]*)\.(?P<epoch>\d+)\.(?P<version>\d+)")


class LastGood:
    """One directory per resource type below `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def save(self, resource: Resource) -> bool:
        """Write a resource durably. False when the disk refused it; the caller serves it anyway."""
        envelope = resource.envelope
        folder = self._directory / envelope.type
        target = folder / f"{envelope.name}.{envelope.epoch}.{envelope.version}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _replace(target, msgspec.json.encode(envelope) + b"\n" + resource.body)
            for old in self._versions(folder, envelope.name)[KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            log.error("last-good %s not written: %s", target.name, error.strerror)
            return False
        return True

    def load(self) -> Iterator[Resource]:
        """The newest readable version of every resource; a damaged file gives way to an older."""
        if not self._directory.is_dir():
            return
        for folder in sorted(self._directory.iterdir()):
            names = {
                found["name"] for path in folder.iterdir() if (found := _FILE.fullmatch(path.name))
            }
            for name in sorted(names):
                whole = (_read(path) for path in self._versions(folder, name))
                newest = next((resource for resource in whole if resource is not None), None)
                if newest is not None:
                    yield newest

    def forget(self, kind: str, name: str) -> None:
        for path in self._versions(self._directory / kind, name):
            path.unlink(missing_ok=True)

    @staticmethod
    def _versions(folder: Path, name: str) -> list[Path]:
        """The files of one resource, newest first."""
        found = []
        for path in folder.iterdir() if folder.is_dir() else ():
            match = _FILE.fullmatch(path.name)
            if match and match["name"] == name:
                found.append((int(match["epoch"]), int(match["version"]), path))
        return [path for _, _, path in sorted(found, reverse=True)]


def _read(path: Path) -> Resource | None:
    try:
        head, _, body = path.read_bytes().partition(b"\n")
        envelope = msgspec.json.decode(head, type=Envelope)
    except (OSError, msgspec.DecodeError):
        return None
    return Resource(envelope, body) if hash_of(body) == envelope.hash else None


def _replace(target: Path, content: bytes) -> None:
    """Write beside, flush, rename: readers see the old file or the whole new one."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".writing-")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(target)
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
