"""What the product writes is its owner's alone: whatever the umask, whatever there was before."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dataplane.adapters.figures.sheets import Count, Sheet
from dataplane.adapters.figures.totals import Totals
from dataplane.adapters.figures.workers import WorkerBoard
from dataplane.adapters.serving.lastgood import LastGood
from dataplane.adapters.serving.snapshot_file import node_identity
from dataplane.adapters.stores import OffStore
from dataplane.adapters.stores.minted import MintedIds
from dataplane.adapters.stores.sqlite_file import connect, prepare, store_path
from dataplane.core.resource import Envelope, Resource, hash_of
from dataplane.files import private_database, private_file, private_folder


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def loose(root: Path) -> list[Path]:
    """What below the folder, or it itself, others may look into."""
    return [each for each in (root, *root.rglob("*")) if mode(each) & 0o077]


def open_up(root: Path) -> None:
    """As a release before this one, or a careless copy, left it."""
    for each in (root, *root.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)


def test_files_and_folders_are_made_private(umask: int, tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "a" / "b")
    file = private_file(folder / "key")

    assert [mode(each) for each in (folder.parent, folder, file)] == [0o700, 0o700, 0o600]


def test_what_was_open_to_others_is_closed_and_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "data" / "control.sqlite3"
    path.parent.mkdir()
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        each.write_text("content")
    open_up(path.parent)

    private_folder(path.parent)
    private_database(path)

    assert loose(path.parent) == []
    assert path.read_text() == "content"


def test_a_folder_that_belongs_to_all_is_left_alone(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)

    private_folder(shared)

    assert mode(shared) == 0o1777


async def test_everything_that_a_node_keeps_is_private(umask: int, tmp_path: Path) -> None:
    state = tmp_path / "state"
    await keep(state)
    assert loose(state) == []

    open_up(state)
    await keep(state)
    assert loose(state) == []


async def keep(state: Path) -> None:
    """Everything that a node keeps: who it is, what was last good, originals, ids, counters."""
    _, boot_id = node_identity(state)
    head = Envelope("cg.node.v1", "default", 1, 1, hash_of(b"{}"))
    assert LastGood(state / "config").save(Resource(head, b"{}")) == []
    ledger = MintedIds(state / "ledger.db")
    ledger.note("ten_orchid", ["91c9568c40c8d8d1"])
    await ledger.close()
    board, nothing = WorkerBoard(state / "workers", boot_id), Count(Totals(), OffStore().stats())
    board.open()
    board.publish(Sheet(boot_id, 0.0, 0.0, nothing))
    path = store_path(state, "ten_orchid")
    prepare(path, 0.0)
    with closing(connect(path, "process")) as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES('seen', 1)")
        assert loose(state) == []
    board.close(Sheet(boot_id, 0.0, 0.0, nothing))


def test_side_files_of_a_database_take_its_mode(umask: int, tmp_path: Path) -> None:
    path = private_database(tmp_path / "telemetry.sqlite3")

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t(a)")

        assert path.with_name(path.name + "-wal").exists()
        assert [each for each in tmp_path.iterdir() if mode(each) & 0o077] == []
