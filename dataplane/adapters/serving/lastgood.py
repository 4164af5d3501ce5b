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
from typing import NamedTuple

import msgspec

from dataplane.core.resource import Envelope, Resource, hash_of
from dataplane.files import private_folder

log = logging.getLogger("headrace.snapshots")
KEPT = 3
_FILE = re.compile(r"(?P<name>[A-Za-z0-9_-]*)\.(?P<epoch>\d+)\.(?P<version>\d+)")


class Version(NamedTuple):
    """One file of a resource."""

    epoch: int
    version: int
    path: Path


class LastGood:
    """One directory per resource type below `directory`; each is listed once and then known, since
    with a thousand tenants a listing for every one of them would take seconds.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[Path, dict[str, list[Version]]] = {}

    def save(self, *resources: Resource) -> list[Resource]:
        """Write resources durably; those that the disk refused, which the caller serves anyway."""
        refused, folders = [], set()
        for resource in resources:
            envelope = resource.envelope
            folder = self._directory / envelope.type
            target = folder / f"{envelope.name}.{envelope.epoch}.{envelope.version}"
            try:
                private_folder(self._directory)
                private_folder(folder)
                _replace(target, msgspec.json.encode(envelope) + b"\n" + resource.body)
                self._keep(folder, Version(envelope.epoch, envelope.version, target), envelope.name)
            except OSError as error:
                log.error("last-good %s not written: %s", target.name, error.strerror)
                refused.append(resource)
            else:
                folders.add(folder)
        for folder in folders:
            _flush(folder)
        return refused

    def load(self) -> Iterator[Resource]:
        """The newest readable version of every resource; a damaged file gives way to an older."""
        if not self._directory.is_dir():
            return
        for folder in sorted(self._directory.iterdir()):
            self._known[folder] = _listed(folder)
            for _, versions in sorted(self._known[folder].items()):
                whole = (_read(version.path) for version in versions)
                newest = next((resource for resource in whole if resource is not None), None)
                if newest is not None:
                    yield newest

    def forget(self, kind: str, name: str) -> None:
        folder = self._directory / kind
        for version in _listed(folder).get(name, ()):
            version.path.unlink(missing_ok=True)
        self._known.get(folder, {}).pop(name, None)

    def _keep(self, folder: Path, written: Version, name: str) -> None:
        """Let the newest KEPT versions stay, this one among those that are counted."""
        if folder not in self._known:
            self._known[folder] = _listed(folder)
        known = {*self._known[folder].get(name, ()), written}
        newest = sorted(known, reverse=True)
        for old in newest[KEPT:]:
            old.path.unlink(missing_ok=True)
        self._known[folder][name] = newest[:KEPT]


def _listed(folder: Path) -> dict[str, list[Version]]:
    """The files of a folder by the name of their resource, newest first."""
    found: dict[str, list[Version]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if match := _FILE.fullmatch(path.name):
            version = Version(int(match["epoch"]), int(match["version"]), path)
            found.setdefault(match["name"], []).append(version)
    return {name: sorted(versions, reverse=True) for name, versions in found.items()}


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


def _flush(folder: Path) -> None:
    """Make what was renamed in a folder durable."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
