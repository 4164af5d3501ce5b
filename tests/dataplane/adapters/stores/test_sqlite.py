"""What is particular to the SQLite store (03-proxy-and-recovery.md 5.5, 5.6)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path

import pytest

from dataplane.adapters.stores import SqliteStore
from dataplane.adapters.stores.originals import Cached
from dataplane.adapters.stores.sqlite_file import Durability, connect
from dataplane.core.effects import Found, Recalled, Refused, Scope
from dataplane.core.text.content import content_key
from dataplane.encryption import StoreEncryption
from tests.dataplane.adapters.stores.builders import (
    ALICE,
    BOB,
    LIMITS,
    MUCH_LATER,
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
    found_below,
    opened,
)
from tests.patience import PATIENCE_S

# -- what lasts ----------------------------------------------------------------------------------


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await turn(store, messages=4)
        await freeze(store, LONG)
        await recall(store, marker(LONG))
        before = await turn(store, messages=5)

    async with opened(tmp_path) as store:
        after = await turn(store, messages=6)

        assert (after.frozen, after.kept, after.owned) == (before.frozen, before.kept, before.owned)
        assert after.previous is not None
        assert after.previous.messages == 5
        assert await recall(store, marker(LONG)) == Recalled(Found.RESOLVED, LONG.encode())


async def test_another_process_knows_of_a_cached_thread_and_of_the_last_minute_perhaps_not(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await turn(store, at=NOW)
        for seconds in (0, 59, 61, 100):
            store.note_cached(Cached(ALICE, NOW + seconds))
        here = (await turn(store, at=NOW + 110)).previous
    async with opened(tmp_path) as store:
        there = (await turn(store, at=NOW + 120)).previous

    assert here is not None
    assert there is not None
    assert (here.cached_at, there.cached_at) == (NOW + 100, NOW + 61)


_AS_IT_WAS = """
DROP TABLE kept;
CREATE TABLE kept(id INTEGER PRIMARY KEY AUTOINCREMENT, k TEXT NOT NULL UNIQUE);
CREATE TRIGGER kept_in AFTER INSERT ON kept BEGIN UPDATE tally SET kept = kept + 1; END;
CREATE TRIGGER kept_out AFTER DELETE ON kept BEGIN
  UPDATE tally SET kept = kept - 1, generation = generation + 1; END;
INSERT INTO kept(k) VALUES('a content key'), ('another');
UPDATE owner SET session = 's1'; UPDATE session SET session = 's1';
UPDATE turn SET session = 's1'; UPDATE frozen SET session = 's1', k = 'a weaker key';
ALTER TABLE turn DROP COLUMN cached_at; PRAGMA user_version = 0;
"""


@pytest.mark.parametrize("key", [None, bytes(32)], ids=["plain", "sealed"])
async def test_a_file_of_an_earlier_release_opens_and_so_do_its_originals(
    tmp_path: Path, key: bytes | None
) -> None:
    """Its decisions were known by a weaker key, and whose its sessions were nobody knows."""
    encryption = StoreEncryption("k1", {"k1": key}) if key else None
    earlier = SqliteStore(tmp_path, limits=LIMITS, timeout_s=PATIENCE_S, encryption=encryption)
    await earlier.start()
    await turn(earlier, messages=4)
    await freeze(earlier, LONG)
    await earlier.close()
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as file:
        file.executescript(_AS_IT_WAS)

    store = SqliteStore(tmp_path, limits=LIMITS, timeout_s=PATIENCE_S, encryption=encryption)
    await store.start()
    view = await turn(store, messages=5)
    opened_by = [(await recall(store, marker(LONG), scope=s)).found for s in (ALICE, BOB)]
    await freeze(store, LONG)
    again = await turn(store, messages=6)
    await store.close()

    assert (view.previous, view.frozen, view.lost, view.kept) == (None, {}, {}, frozenset())
    assert view.owned.keys() == {marker(LONG)}
    assert opened_by == [Found.RESOLVED, Found.FOREIGN_SESSION]
    assert set(again.frozen["mask"]) == {LONG}
    assert again.kept == {content_key(LONG)}
    assert store.stats("acme").stash_live == 1


async def test_each_tenant_has_a_file_of_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await stash(store, "text", scope=ALICE)
        await stash(store, "text", scope=Scope("", "alice", "s1"))

    assert found_below(tmp_path, "store.db") == ["tenants/acme/store.db", "tenants/local/store.db"]


@pytest.mark.parametrize("tenant", ["..", ".", "a/b", "../acme", "a\x00b", "ü", "a" * 129])
async def test_a_tenant_id_that_is_no_path_segment_reaches_no_file(
    tmp_path: Path, tenant: str
) -> None:
    scope = Scope(tenant, "alice", "s1")
    async with opened(tmp_path) as store:
        assert not (await turn(store, scope=scope)).available
        assert (await stash(store, "text", scope=scope)).durable == frozenset()
        assert (await recall(store, marker("text"), scope=scope)).found is Found.STORE_ERROR

    assert found_below(tmp_path, "*") == []


async def test_a_long_original_is_compressed_and_a_short_one_is_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await stash(store, LONG, "short")

    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as connection:
        sizes = connection.execute(
            "SELECT size, packed, length(v) < size FROM stash JOIN body ON body.id = stash.body"
        ).fetchall()
    assert sorted(sizes) == [(5, 0, 0), (len(LONG), 1, 1)]


@pytest.mark.parametrize(("durability", "synchronous"), [("process", 1), ("host", 2)])
async def test_the_file_is_opened_with_the_pragmas_of_the_specification(
    tmp_path: Path, durability: Durability, synchronous: int
) -> None:
    store = SqliteStore(tmp_path, durability=durability)
    await store.start()
    await stash(store, "text")
    await store.close()

    with contextlib.closing(connect(file_of(tmp_path), durability)) as connection:
        found = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in (
                "journal_mode",
                "synchronous",
                "page_size",
                "auto_vacuum",
                "wal_autocheckpoint",
            )
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": synchronous,
        "page_size": 4096,
        "auto_vacuum": 2,
        "wal_autocheckpoint": 0,
    }


async def test_the_log_is_checkpointed_into_the_file_while_it_is_in_use(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await turn(store)
        size = file_of(tmp_path).stat().st_size
        await stash(store, os.urandom(20_000).hex())

        async def has_grown() -> bool:
            return file_of(tmp_path).stat().st_size > size

        await eventually(has_grown)


# -- writes that are saved -----------------------------------------------------------------------


async def test_replaying_what_is_fresh_writes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, "text1", "text2")
        before = store.stats().commits

        committed = await stash(store, "text1", "text2", at=NOW + TTL_S / 20 - 1, renews=True)

        assert committed.durable == {marker("text1"), marker("text2")}
        assert store.stats().commits == before == 1


async def test_a_renewal_that_is_due_is_written_once_and_seen_in_the_view(tmp_path: Path) -> None:
    later = NOW + TTL_S / 20
    async with opened(tmp_path) as store:
        await stash(store, "text")
        assert (await turn(store)).owned == {marker("text"): NOW}
        await stash(store, "text", at=later, renews=True)
        await stash(store, "text", at=later + 1, renews=True)

        assert store.stats().commits == 2
        assert (await turn(store, at=later + 1)).owned == {marker("text"): later}


async def test_an_original_stays_for_the_grace_after_its_recorded_expiry(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await stash(store, "text1", "text2")

        within = await recall(store, marker("text1"), at=NOW + TTL_S + 119)
        beyond = await recall(store, marker("text2"), at=NOW + TTL_S + 120)

    assert (within.found, beyond.found) == (Found.RESOLVED, Found.EXPIRED)


async def test_many_commits_at_once_are_all_answered(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        texts = [f"text {number}" for number in range(300)]

        answers = await asyncio.gather(*(freeze(store, text) for text in texts))

        assert [marker(text) in a.durable for text, a in zip(texts, answers, strict=True)] == (
            [True] * 300
        )
        assert set((await turn(store)).frozen["mask"]) == set(texts)


async def test_one_commit_that_cannot_be_written_takes_no_other_with_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        unwritable = Scope("acme", "lone surrogate \ud800", "s1")

        good, bad = await asyncio.gather(stash(store, "good"), stash(store, "x", scope=unwritable))

        assert good.durable == {marker("good")}
        assert bad.refused == {marker("x"): Refused.UNAVAILABLE}


async def test_expired_entries_are_swept_without_being_asked_for(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, limits=LIMITS, timeout_s=PATIENCE_S, sweep_every_s=0.02)
    await store.start()
    await freeze(store, "text1", "text2")

    async def both_are_swept() -> bool:
        await turn(store, scope=BOB, at=MUCH_LATER)
        return store.stats().stash_expired == 2

    await eventually(both_are_swept)

    view = await turn(store, at=MUCH_LATER)
    assert view.lost == {"mask": frozenset({"text1", "text2"})}
    assert (await recall(store, marker("text1"), at=MUCH_LATER)).found is Found.EXPIRED
    await store.close()


def open_files(directory: Path) -> list[str]:
    """The stores below a directory that this process has open."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed in between
            found.append(str(handle.readlink()))
    return [path for path in found if path.startswith(str(directory)) and path.endswith("-wal")]


async def test_more_tenants_than_may_be_open_at_once_are_all_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataplane.adapters.stores.sqlite_writer.MAX_OPEN_FILES", 4)
    scopes = [Scope(f"ten{number}", "alice", "s1") for number in range(20)]
    async with opened(tmp_path) as store:
        for scope in scopes * 2:
            await freeze(store, f"text of {scope.tenant}", scope=scope)
        assert len(open_files(tmp_path)) <= 4 + 1  # one may be at its checkpoint
        for scope in scopes:
            text = f"text of {scope.tenant}"
            assert (await recall(store, marker(text), scope=scope)).original == text.encode()
