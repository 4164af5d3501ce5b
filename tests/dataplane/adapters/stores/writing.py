"""A process to be killed: commits without end and prints each id once it is durable.

Usage: python -m tests.dataplane.adapters.stores.writing STATE_DIR NAME
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

from dataplane.adapters.stores import SqliteStore
from dataplane.core.effects import Scope
from tests.dataplane.adapters.stores.builders import NOW, freeze, marker, turn

SESSIONS = 4


def text_of(name: str, session: int, number: int) -> str:
    return f"{name} {session} {number} " + "output line\n" * (number % 7 * 200)


async def session(store: SqliteStore, name: str, index: int) -> None:
    scope = Scope("acme", "alice", f"{name}-{index}")
    for number in itertools.count():
        text = text_of(name, index, number)
        await turn(store, scope=scope, at=NOW + number)
        committed = await freeze(store, text, scope=scope, at=NOW + number)
        if marker(text) in committed.durable:
            sys.stdout.write(f"{index} {number}\n")
            sys.stdout.flush()


async def write(state_dir: Path, name: str) -> None:
    store = SqliteStore(state_dir)
    await store.start()
    async with asyncio.TaskGroup() as group:
        for index in range(SESSIONS):
            group.create_task(session(store, name, index))


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2]))
