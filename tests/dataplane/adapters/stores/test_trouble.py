"""A damaged, locked or full store breaks no request (03-proxy-and-recovery.md 5.5, 5.6)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataplane.adapters.stores import SqliteStore
from dataplane.adapters.stores.disk import Disk
from dataplane.core.effects import Committed, Found, Recalled, Refused
from tests.dataplane.adapters.stores.builders import (
    ALICE,
    BOB,
    ELSEWHERE,
    LIMITS,
    NOW,
    TTL_S,
    freeze,
    marker,
    recall,
    stash,
    turn,
)
from tests.dataplane.adapters.stores.durable import (
    LONG,
    eventually,
    file_of,
    impatient,
    is_available,
    locked,
    opened,
)
from tests.patience import PATIENCE_S

PAGE = 16_384

# -- damage --------------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    os.truncate(path, 20_000)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    path.write_bytes(b"not a database" * 5000)


def flip(path: Path) -> None:
    """Change some bytes in the middle of every page but the first."""
    content = bytearray(path.read_bytes())
    for page in range(1, len(content) // PAGE):
        content[page * PAGE : page * PAGE + 16] = os.urandom(16)
    path.write_bytes(content)


def lose_log(path: Path) -> None:
    """A log that was there when the process died, and is not any more."""
    path.with_name("store.db-shm").touch()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(flip, id="03-127-flipped"),
        pytest.param(lose_log, id="03-127-without-its-log"),
        pytest.param(truncate, id="03-127-truncated"),
        pytest.param(empty, id="03-127-empty"),
        pytest.param(overwrite, id="03-127-overwritten"),
    ],
)
async def test_a_damaged_file_is_moved_aside_and_the_node_serves(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, LONG)
    damage(file_of(tmp_path))

    async with opened(tmp_path) as store:
        view = await turn(store)
        committed = await stash(store, "new")
        unknown = await recall(store, marker(LONG))

        assert view.available
        assert committed.durable == {marker("new")}
        assert unknown.found is Found.LOST
        assert store.resets == {"acme"}
        assert not store.stats().authoritative
    assert file_of(tmp_path).with_name("store.db.corrupt-1").exists()


@pytest.mark.parametrize("damage", [flip, overwrite])
async def test_two_processes_on_one_damaged_file_both_go_on_with_its_successor(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        await freeze(one, LONG)
        await turn(other)
        with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        damage(file_of(tmp_path))
        one._files.doubt("acme")

        await eventually(lambda: is_available(one, scope=BOB))
        await eventually(lambda: is_available(other, scope=BOB))

        assert (await stash(other, "new")).durable == {marker("new")}
        assert (await recall(one, marker("new"))).original == b"new"
        assert one.resets == other.resets == {"acme"}
        assert not one.stats().authoritative
        assert not other.stats().authoritative
    assert not file_of(tmp_path).with_name("store.db.corrupt-2").exists()


async def test_a_file_that_is_found_malformed_while_it_is_in_use_is_replaced(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, LONG)
        with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        flip(file_of(tmp_path))

        async def is_replaced() -> bool:
            await recall(store, marker(LONG))
            return store.resets == {"acme"}

        await eventually(is_replaced)
        await eventually(lambda: is_available(store))
        assert (await stash(store, "new")).durable == {marker("new")}


async def test_the_log_of_a_file_that_was_removed_is_not_replayed_into_its_successor(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, "text")
        left = file_of(tmp_path).with_name("store.db-wal").read_bytes()
    file_of(tmp_path).unlink()
    file_of(tmp_path).with_name("store.db-wal").write_bytes(left)

    async with opened(tmp_path) as store:
        assert (await turn(store)).frozen == {}
        assert store.resets == set()


async def test_a_ledger_that_was_reset_proves_nothing_for_thirty_days(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await turn(store)
    overwrite(file_of(tmp_path))
    async with opened(tmp_path) as store:
        await turn(store)

    async with opened(tmp_path) as store:
        await turn(store)
        early = await recall(store, "0" * 16, at=NOW + 29 * 86_400)
        late = await recall(store, "0" * 16, at=NOW + 30 * 86_400)

        assert (early.found, late.found) == (Found.LOST, Found.NEVER_MINTED)
        assert store.resets == set()


async def test_an_original_whose_bytes_were_changed_is_lost_and_never_wrong(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await stash(store, LONG, "short")
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as connection:
        connection.execute("UPDATE body SET v = x'28b52ffd00'")
        connection.commit()

    async with opened(tmp_path) as store:
        answers = [(await recall(store, marker(text))).found for text in (LONG, "short")]

    assert answers == [Found.LOST, Found.LOST]


async def test_an_original_that_vanished_although_it_was_minted_is_lost(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await stash(store, "text")
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as connection:
        connection.execute("DELETE FROM stash")
        connection.commit()

    async with opened(tmp_path) as store:
        assert (await recall(store, marker("text"))).found is Found.LOST


# -- trouble -------------------------------------------------------------------------------------


async def test_a_locked_file_delays_nobody_and_breaks_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, "text")
        with locked(tmp_path):
            with impatient(store):
                locked_turn = await turn(store)
                locked_commit = await stash(store, "new")
                locked_renewal = await stash(store, "text", at=NOW + TTL_S / 2, renews=True)
                await stash(store, "gone", renews=True)
                locked_recall = await recall(store, marker("text"))
            elsewhere = await stash(store, "text", scope=ELSEWHERE)

        assert not locked_turn.available
        assert locked_commit.refused == {marker("new"): Refused.UNAVAILABLE}
        assert locked_renewal.refused == {marker("text"): Refused.UNAVAILABLE}
        assert store.stats().stash_missing == 1
        assert locked_recall.found is Found.RESOLVED
        assert elsewhere.durable == {marker("text")}
        await eventually(lambda: is_available(store))
        assert (await stash(store, "new")).durable == {marker("new")}


async def test_what_this_process_knows_of_a_session_is_replayed_while_the_file_is_locked(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await turn(store, messages=2)
        await freeze(store, "text")
        with locked(tmp_path), impatient(store):
            view = await turn(store, messages=4, at=NOW + 1)
            unknown = await turn(store, scope=BOB)
        await eventually(lambda: is_available(store))
        later = await turn(store, messages=6, at=NOW + 2)

    assert not view.available
    assert view.frozen == later.frozen == {"mask": {"text": f"[masked] <<cg:{marker('text')}>>"}}
    assert marker("text") in view.owned
    assert unknown.frozen == {}
    assert unknown.owned == {}


async def test_a_turn_that_the_store_did_not_record_still_moves_the_boundary(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await turn(store, messages=2)
        with locked(tmp_path), impatient(store):
            view = await turn(store, messages=4, at=NOW + 1)
        await eventually(lambda: is_available(store, scope=BOB))
        later = await turn(store, messages=6, at=NOW + 2)

    assert view.previous is not None
    assert view.previous.messages == 2
    assert later.previous is not None
    assert later.previous.messages == 4


async def test_a_turn_that_was_not_recorded_counts_although_its_alias_has_moved_on(
    tmp_path: Path,
) -> None:
    mine = ALICE._replace(alias="same beginning")
    other = mine._replace(session="s3")
    async with opened(tmp_path) as store:
        await turn(store, scope=mine, messages=2)
        with locked(tmp_path), impatient(store):
            await turn(store, scope=mine, messages=4, at=NOW + 1)
        await eventually(lambda: is_available(store, scope=other))
        await turn(store, scope=other, messages=2, at=NOW + 50)
        later = await turn(store, scope=mine, messages=6, at=NOW + 60)

    assert later.previous is not None
    assert (later.previous.messages, later.previous.at) == (4, NOW + 50)


async def test_a_commit_that_was_given_up_leaves_no_decision_behind(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await turn(store)
        with locked(tmp_path), impatient(store, 0.02):  # sooner than SQLite gives up itself
            refused = await freeze(store, "text")
        await eventually(lambda: is_available(store))
        view = await turn(store)

    assert refused.refused == {marker("text"): Refused.UNAVAILABLE}
    assert view.frozen == {}
    assert store.stats().commit_timeouts >= 1


async def test_a_state_directory_that_cannot_be_made_breaks_no_request(tmp_path: Path) -> None:
    in_the_way = tmp_path / "state"
    in_the_way.write_text("a file, not a directory")
    async with opened(in_the_way) as store:
        view = await turn(store)
        committed = await stash(store, "text")
        recalled = await recall(store, marker("text"))

    assert not view.available
    assert committed == Committed(frozenset(), {marker("text"): Refused.UNAVAILABLE}, failed=True)
    assert recalled == Recalled(Found.STORE_ERROR)


FULL_DISK = """
import asyncio, os, resource, sys
from pathlib import Path
from dataplane.adapters.stores import SqliteStore
from tests.dataplane.adapters.stores.builders import marker, recall, stash, turn

async def main():
    store = SqliteStore(Path(sys.argv[1]), timeout_s=60.0)
    await store.start()
    await stash(store, "text")
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    large = os.urandom(400_000).hex()
    refused = (await stash(store, large)).refused
    print(refused[marker(large)].name, (await recall(store, marker("text"), keep=False)).original)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await asyncio.sleep(0.3)
    print((await turn(store)).available, len((await stash(store, large)).durable))
    await store.close()

asyncio.run(main())
"""


async def test_a_disk_without_room_refuses_and_recovers(tmp_path: Path) -> None:
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.stdout.splitlines() == ["UNAVAILABLE b'text'", "True 1"], ran.stderr


async def test_a_nearly_full_disk_admits_no_new_original(tmp_path: Path) -> None:
    used = [0.5]
    store = SqliteStore(tmp_path, timeout_s=PATIENCE_S)
    store.disk = Disk(tmp_path, used=lambda path: used[0])
    await store.start()
    await stash(store, "text")
    used[0] = 0.9

    refused = await stash(store, "new")
    renewed = await stash(store, "text", renews=True)

    assert refused.refused == {marker("new"): Refused.FULL}
    assert renewed.durable == {marker("text")}
    await store.close()


async def test_a_closed_store_answers_that_it_is_not_available(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await stash(store, "text")

    assert not (await turn(store)).available
    assert (await stash(store, "text")).refused == {marker("text"): Refused.UNAVAILABLE}
    assert (await recall(store, marker("text"))).found is Found.STORE_ERROR


class LateStore(SqliteStore):
    """Every write that was given up lands all the same, as one does that is in its COMMIT."""

    async def _write(self, *asked: Any) -> Any:
        return await asyncio.shield(super()._write(*asked))


SLOW_TO_FREEZE = """\
CREATE TRIGGER slow_to_freeze AFTER INSERT ON frozen WHEN NEW.k = 'late' BEGIN
  SELECT count(*) FROM (WITH RECURSIVE c(n) AS (
    VALUES(0) UNION ALL SELECT n + 1 FROM c WHERE n < 3000000) SELECT n FROM c);
END;"""


async def test_a_commit_that_lands_after_it_was_given_up_decides_nothing(tmp_path: Path) -> None:
    """Its request went out without the decision, so the next turn must not replay it either."""
    store = LateStore(tmp_path, limits=LIMITS, timeout_s=PATIENCE_S)
    await store.start()
    await freeze(store, "earlier")
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as other:
        other.executescript(SLOW_TO_FREEZE)

    with impatient(store, 0.1):
        late = await freeze(store, "late")
    await eventually(lambda: is_available(store))
    view = await turn(store, messages=8)
    await store.close()

    assert late.refused == {marker("late"): Refused.UNAVAILABLE}
    assert list(view.frozen["mask"]) == ["earlier"]
    assert marker("late") in view.owned
