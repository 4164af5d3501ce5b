"""Resources from one file: a data plane that runs without a control plane.

Source: 03-proxy-and-recovery.md 9.5; 00-start-here.md 3.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dataplane.core.resource import Ack, Change, Discovery, Resource, unbundle
from dataplane.core.ulid import RANDOM_BYTES, ulid
from dataplane.files import private_file, private_folder


class FixedSource:
    """A Source over resources that never change.

    on_answers: told what the node makes of them; nobody follows them.
    """

    on_answers: Callable[[Sequence[Ack]], None] | None = None

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = {(r.envelope.type, r.envelope.name): r for r in resources}

    async def discover(self, cursor: int | None, *, wait_s: float) -> Discovery:
        """Everything once; afterwards it is as silent as a file that does not change."""
        if cursor is not None:
            await asyncio.sleep(wait_s)
            return Discovery(cursor, ())
        changes = [
            Change(e.type, e.name, e.epoch, e.version, e.hash)
            for e in (resource.envelope for resource in self._resources.values())
        ]
        return Discovery(1, changes, resync=True)

    async def fetch(self, change: Change) -> Resource:
        return self._resources[change.type, change.name]

    async def ack(self, acks: Sequence[Ack]) -> None:
        if self.on_answers is not None:
            self.on_answers(acks)


class FileSource(FixedSource):
    """A Source over the bundle that `headrace snapshot` writes; None serves last-good only."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(())
        self._path = path

    async def discover(self, cursor: int | None, *, wait_s: float) -> Discovery:
        if cursor is None and self._path is not None:
            super().__init__(unbundle(await asyncio.to_thread(self._path.read_bytes)))
        return await super().discover(cursor, wait_s=wait_s)


def node_identity(state_dir: Path) -> tuple[str, str]:
    """The id of this node, written once to the state directory, and one of this start."""
    boot_id = _fresh()
    path = state_dir / "node_id"
    try:
        private_folder(state_dir)
        with path.open("x", encoding="ascii") as file:
            private_file(path)
            file.write(boot_id)
    except FileExistsError:
        return private_file(path).read_text(encoding="ascii").strip() or boot_id, boot_id
    except OSError:
        return boot_id, boot_id
    return boot_id, boot_id


def _fresh() -> str:
    return ulid(at_ms=time.time_ns() // 1_000_000, randomness=os.urandom(RANDOM_BYTES))
