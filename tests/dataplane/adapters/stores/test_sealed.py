"""Values at rest are sealed, and a key that is wrong breaks nothing (03 §5.9)."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dataplane.adapters.stores import SqliteStore
from dataplane.adapters.stores.cipher import Cipher, SealedError
from dataplane.core.effects import Found, Recalled, Refused
from dataplane.encryption import StoreEncryption
from tests.dataplane.adapters.stores.builders import (
    BOB,
    LIMITS,
    NOW,
    TTL_S,
    freeze,
    marker,
    recall,
    stash,
    turn,
)
from tests.dataplane.adapters.stores.durable import LONG, file_of
from tests.patience import PATIENCE_S

K1, K2, OTHER = bytes(32), bytes([2]) * 32, bytes([3]) * 32
FIRST = StoreEncryption("k1", {"k1": K1})
ROTATED = StoreEncryption("k2", {"k1": K1, "k2": K2})
WRONG = StoreEncryption("k1", {"k1": OTHER})


@contextlib.asynccontextmanager
async def sealed(
    state_dir: Path, encryption: StoreEncryption | None = FIRST
) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(state_dir, limits=LIMITS, timeout_s=PATIENCE_S, encryption=encryption)
    await store.start()
    yield store
    await store.close()


def rows(state_dir: Path, sql: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(file_of(state_dir))) as connection:
        return connection.execute(sql).fetchall()


async def test_neither_originals_nor_replacements_are_in_the_file(tmp_path: Path) -> None:
    async with sealed(tmp_path) as store:
        await freeze(store, "a secret that is short")
        await freeze(store, "a secret that is long " * 500)

    kept = b"".join(path.read_bytes() for path in file_of(tmp_path).parent.iterdir())
    replacements = rows(tmp_path, "SELECT replacement FROM frozen")
    assert b"[masked]" not in kept
    assert all(isinstance(row[0], bytes) and b"masked" not in row[0] for row in replacements)
    bodies = rows(tmp_path, "SELECT v FROM body")
    assert all(isinstance(row[0], bytes) and b"secret" not in row[0] for row in bodies)


async def test_a_value_is_compressed_before_it_is_sealed(tmp_path: Path) -> None:
    async with sealed(tmp_path) as store:
        await stash(store, LONG)

    assert rows(tmp_path, "SELECT length(v) < 500, packed FROM stash, body") == [(1, 3)]


async def test_a_sealed_value_is_format_key_nonce_text_and_tag(tmp_path: Path) -> None:
    async with sealed(tmp_path) as store:
        await stash(store, "text")

    [(value,)] = rows(tmp_path, "SELECT v FROM body")
    assert isinstance(value, bytes)
    assert value[:5] == b"\x01\x00\x00\x00\x01"
    assert len(value) == 1 + 4 + 12 + len("text") + 16


@pytest.mark.parametrize(
    ("tenant", "namespace", "k"),
    [("globex", "p", "id"), ("acme", "frz", "id"), ("acme", "p", "other")],
)
def test_a_value_opens_only_in_its_place(tenant: str, namespace: str, k: str) -> None:
    kept = Cipher("acme", {1: K1}, newest=1).seal("p", "id", b"text")

    with pytest.raises(SealedError):
        Cipher(tenant, {1: K1}, newest=1).open(namespace, k, kept)


async def test_everything_is_readable_after_a_restart_with_the_same_key(tmp_path: Path) -> None:
    async with sealed(tmp_path) as store:
        await freeze(store, LONG)
    async with sealed(tmp_path) as store:
        assert (await turn(store)).frozen["mask"].keys() == {LONG}
        assert await recall(store, marker(LONG)) == Recalled(Found.RESOLVED, LONG.encode())


# -- rotation ------------------------------------------------------------------------------------


async def test_after_a_rotation_old_values_are_readable_and_new_ones_use_the_new_key(
    tmp_path: Path,
) -> None:
    async with sealed(tmp_path) as store:
        await freeze(store, "old")
    async with sealed(tmp_path, ROTATED) as store:
        view = await turn(store)
        await stash(store, "new")

        assert view.frozen["mask"].keys() == {"old"}
        assert (await recall(store, marker("old"))).original == b"old"
    assert rows(tmp_path, "SELECT k, packed >> 1 FROM stash ORDER BY 2") == [
        (marker("old"), 1),
        (marker("new"), 2),
    ]


async def test_what_is_touched_after_a_rotation_is_sealed_with_the_new_key(tmp_path: Path) -> None:
    async with sealed(tmp_path) as store:
        await freeze(store, "old", LONG)
    async with sealed(tmp_path, ROTATED) as store:
        await turn(store, at=NOW + TTL_S / 10)
        assert (await recall(store, marker(LONG))).original == LONG.encode()

    assert rows(tmp_path, "SELECT DISTINCT packed >> 1 FROM stash") == [(2,)]
    assert rows(tmp_path, "SELECT DISTINCT substr(replacement, 2, 4) FROM frozen") == [
        (b"\x00\x00\x00\x02",)
    ]


async def test_the_old_key_is_not_needed_once_the_file_was_opened_with_both(
    tmp_path: Path,
) -> None:
    async with sealed(tmp_path) as store:
        await stash(store, "old")
    async with sealed(tmp_path, ROTATED) as store:
        await turn(store)
    async with sealed(tmp_path, StoreEncryption("k2", {"k2": K2})) as store:
        assert (await recall(store, marker("old"))).original == b"old"


async def test_processes_with_different_keys_do_not_make_data_keys_in_turns(
    tmp_path: Path,
) -> None:
    backwards = StoreEncryption("k1", ROTATED.keks)
    for encryption in (FIRST, ROTATED, backwards, ROTATED, backwards):
        async with sealed(tmp_path, encryption) as store:
            assert (await stash(store, encryption.key_id)).durable

    assert rows(tmp_path, "SELECT count(*) FROM datakey") == [(2,)]


async def test_a_value_of_a_process_that_has_rotated_is_read_by_one_that_has_not(
    tmp_path: Path,
) -> None:
    async with sealed(tmp_path, StoreEncryption("k1", ROTATED.keks)) as early:
        await stash(early, "old")
        async with sealed(tmp_path, ROTATED) as late:
            await freeze(late, "new", scope=BOB)

        assert (await recall(early, marker("new"), scope=BOB)).original == b"new"


async def test_a_store_that_was_in_the_clear_is_sealed_as_it_is_touched(tmp_path: Path) -> None:
    async with sealed(tmp_path, None) as store:
        await freeze(store, "text")
    async with sealed(tmp_path) as store:
        assert (await recall(store, marker("text"))).original == b"text"
        await turn(store, at=NOW + TTL_S / 10)

    [(value,)] = rows(tmp_path, "SELECT v FROM body")
    assert isinstance(value, bytes)
    assert b"text" not in value


# -- the wrong key -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encryption",
    [
        pytest.param(WRONG, id="03-129-other-bytes"),
        pytest.param(StoreEncryption("k2", {"k2": K2}), id="03-129-other-id"),
        pytest.param(None, id="03-129-none"),
    ],
)
async def test_a_wrong_key_reads_nothing_writes_nothing_and_ends_with_the_right_one(
    tmp_path: Path, encryption: StoreEncryption | None, caplog: pytest.LogCaptureFixture
) -> None:
    async with sealed(tmp_path) as store:
        await freeze(store, "text")
    async with sealed(tmp_path, encryption) as store:
        with caplog.at_level(logging.ERROR):
            view = await turn(store)
        assert not view.available
        assert (await recall(store, marker("text"))).found is Found.DECRYPT_ERROR
        assert (await recall(store, "0" * 16)).found is Found.NEVER_MINTED
        assert (await recall(store, marker("text"), scope=BOB)).found is Found.FOREIGN_SESSION
        assert (await stash(store, "new")).refused == {marker("new"): Refused.UNAVAILABLE}
        assert "cg.decrypt_error tenant=acme" in caplog.text
    async with sealed(tmp_path) as store:
        assert (await recall(store, marker("text"))).original == b"text"
        assert (await turn(store)).frozen["mask"].keys() == {"text"}
        assert (await stash(store, "new")).durable == {marker("new")}


async def test_a_sealed_value_that_was_changed_does_not_open_and_harms_no_other(
    tmp_path: Path,
) -> None:
    async with sealed(tmp_path) as store:
        await freeze(store, "text1", "text2")
    with contextlib.closing(sqlite3.connect(file_of(tmp_path))) as connection:
        connection.execute("UPDATE body SET v = CAST(substr(v, 1, 20) || 'x' AS BLOB) WHERE id = 1")
        connection.execute(
            "UPDATE frozen SET replacement = substr(replacement, 1, 20) WHERE id = 1"
        )
        connection.commit()

    async with sealed(tmp_path) as store:
        view = await turn(store)
        assert view.frozen == {"mask": {"text2": f"[masked] <<cg:{marker('text2')}>>"}}
        assert view.lost == {"mask": frozenset({"text1"})}
        assert (await recall(store, marker("text1"))).found is Found.DECRYPT_ERROR
        assert (await recall(store, marker("text2"))).original == b"text2"
