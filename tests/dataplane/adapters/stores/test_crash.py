"""What was durable before a SIGKILL is there after it (03-proxy-and-recovery.md 5.5, 5.10)."""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
import sys
from pathlib import Path

from dataplane.adapters.stores import SqliteStore
from dataplane.core.effects import Found, Recalled, Scope
from tests.dataplane.adapters.stores.builders import NOW, freeze, limits, marker, recall, turn
from tests.dataplane.adapters.stores.writing import SESSIONS, text_of
from tests.patience import PATIENCE_S

KILLS = 10
ROOM = limits(max_entries=1_000_000, max_bytes=1 << 40)


def write_until_killed(state_dir: Path, name: str, lines: int) -> list[tuple[int, int]]:
    """Sessions and numbers of what a process printed as durable before it was killed."""
    writing = [sys.executable, "-m", "tests.dataplane.adapters.stores.writing"]
    with subprocess.Popen(
        [*writing, str(state_dir), name], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        printed += process.stdout.readlines()
    whole = [line.split() for line in printed if line.endswith("\n")]
    return [(int(session), int(number)) for session, number in whole]


async def test_nothing_durable_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    moments = random.Random(20)  # noqa: S311
    for kill in range(KILLS):
        name = f"run-{kill}"
        printed = write_until_killed(tmp_path, name, moments.randint(1, 60))
        store = SqliteStore(tmp_path, limits=ROOM, timeout_s=PATIENCE_S)
        await store.start()

        for session, number in printed:
            text = text_of(name, session, number)
            scope = Scope("acme", "alice", f"{name}-{session}")
            found = await recall(store, marker(text), scope=scope, at=NOW + number, keep=False)
            assert found == Recalled(Found.RESOLVED, text.encode(), "mask")
        await assert_every_decision_has_its_original(store, name)
        await store.close()


async def assert_every_decision_has_its_original(store: SqliteStore, name: str) -> None:
    for index in range(SESSIONS):
        scope = Scope("acme", "alice", f"{name}-{index}")
        view = await turn(store, scope=scope, at=NOW + 1000)
        for text, replacement in view.frozen.get("mask", {}).items():
            named = re.findall(r"<<cg:(\w+)>>", replacement)
            answers = [await recall(store, id_, scope=scope, keep=False) for id_ in named]
            assert answers == [Recalled(Found.RESOLVED, text.encode(), "mask")]


async def test_a_decision_of_another_process_is_seen_at_the_next_turn(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, timeout_s=PATIENCE_S)
    await store.start()
    scope = Scope("acme", "alice", "other-0")
    assert (await turn(store, scope=scope)).frozen == {}

    printed = await asyncio.to_thread(write_until_killed, tmp_path, "other", 20)

    texts = {text_of("other", 0, number) for session, number in printed if session == 0}
    view = await turn(store, scope=scope)
    assert texts <= set(view.frozen["mask"])
    assert {marker(text) for text in texts} <= set(view.owned)
    await store.close()


async def test_two_stores_on_one_directory_take_turns_in_one_session(tmp_path: Path) -> None:
    stores = [SqliteStore(tmp_path, timeout_s=PATIENCE_S) for _ in range(2)]
    for store in stores:
        await store.start()

    for number in range(10):
        view = await turn(stores[number % 2], messages=number + 1)
        assert len(view.frozen.get("mask", {})) == number
        assert (view.previous.messages if view.previous else 0) == number
        await freeze(stores[number % 2], f"text {number}")

    for store in stores:
        await store.close()
