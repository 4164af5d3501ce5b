"""The writer on real files: what it cannot store it refuses, and it is none the worse for it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connections

from controlplane.accounts.models import User
from controlplane.accounts.scopes import scope_of_user
from controlplane.telemetry import hooks, queries, writer
from controlplane.telemetry.models import NodeStream, RequestRecord, TelemetryGap
from controlplane.telemetry.queries import State, Window
from controlplane.telemetry.writer import BusyError, Writer
from dataplane.core.uplink import BATCH_MAX_BYTES, RejectedError
from tests.controlplane.telemetry.batches import NOW, batch, row, written
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def database(
    transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A telemetry database of the test's own, that it may break."""
    path = tmp_path / "telemetry.sqlite3"
    connections["telemetry"].ensure_connection()
    connections["telemetry"].connection.execute("VACUUM INTO ?", (str(path),))
    monkeypatch.setitem(connections["telemetry"].settings_dict, "NAME", str(path))
    monkeypatch.setitem(connections.settings["telemetry"], "NAME", str(path))
    connections["telemetry"].close()
    yield path
    connections["telemetry"].close()


@pytest.fixture
def running(database: Path) -> Iterator[Writer]:
    made = Writer()
    yield made
    made.close()


def sent(seq: int, **more: Any) -> bytes:
    return written(batch(seq, [row(seq)], **more))


def requests_stored() -> int:
    connections["telemetry"].close()
    return RequestRecord.objects.count()


def test_a_batch_is_safe_once_it_is_answered(running: Writer) -> None:
    assert running.submit(sent(1)).result()

    assert requests_stored() == 1


def test_a_batch_that_comes_twice_is_answered_and_counted_once(running: Writer) -> None:
    running.submit(sent(1)).result()

    assert not running.submit(sent(1)).result()

    assert requests_stored() == 1


async def test_a_node_in_this_process_waits_without_holding_the_loop(running: Writer) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await running.send(sent(1))


def test_what_is_no_batch_is_refused_for_good(running: Writer) -> None:
    with pytest.raises(RejectedError):
        running.submit(b'{"seq":"one"}').result()


def test_a_batch_whose_head_cannot_be_stored_is_refused_for_good_and_is_a_gap(
    running: Writer,
) -> None:
    running.submit(sent(1)).result()
    with pytest.raises(RejectedError):
        running.submit(sent(2, claimed=2**70)).result()

    assert running.submit(sent(3)).result()

    gap = TelemetryGap.objects.get()
    assert (gap.from_seq, gap.to_seq) == (2, 2)


def test_a_batch_of_more_than_a_mebibyte_is_refused(running: Writer) -> None:
    with pytest.raises(RejectedError):
        running.submit(b" " * (BATCH_MAX_BYTES + 1))


def test_more_batches_than_there_is_room_for_are_sent_back(
    running: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on = threading.Event()
    monkeypatch.setattr(running, "_take", lambda *_: going_on.wait())
    waiting = [running.submit(b"") for _ in range(writer.WAITING_MAX)]

    with pytest.raises(BusyError):
        running.submit(b"")

    going_on.set()
    for each in waiting:
        each.result()


def test_a_locked_database_keeps_nothing_and_takes_the_batch_later(
    running: Writer, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(running_settings(running)["OPTIONS"], "timeout", 0.2)
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseError):
        running.submit(sent(1)).result()

    other.execute("ROLLBACK")
    other.close()
    running_settings(running)["OPTIONS"]["timeout"] = PATIENCE_S

    assert running.submit(sent(1)).result()
    assert requests_stored() == 1


def test_what_waited_for_the_database_is_no_skew_of_the_nodes_clock(database: Path) -> None:
    """It is placed by when it came, not by when its turn was."""
    hours = iter([NOW / 1000, NOW / 1000 + 120])
    slow, going_on = Writer(clock=lambda: next(hours)), threading.Event()
    slow._thread.submit(going_on.wait)

    waits = slow.submit(sent(1))
    slow.submit(sent(2))
    going_on.set()

    assert waits.result()
    slow.close()
    assert NodeStream.objects.get().batches == 2
    first = RequestRecord.objects.order_by("id")[0]
    assert (first.at, first.node_at) == (NOW, NOW)


def test_a_full_database_keeps_nothing_and_takes_the_batch_later(
    running: Writer, monkeypatch: pytest.MonkeyPatch, database: Path
) -> None:
    running.submit(sent(1)).result()
    options = connections.settings["telemetry"]["OPTIONS"]
    full = {**options, "init_command": options["init_command"] + "PRAGMA max_page_count=1;"}
    with monkeypatch.context() as context:
        context.setitem(running_settings(running), "OPTIONS", full)
        many = [row(number, session=f"s{number}") for number in range(10, 400)]
        with pytest.raises(DatabaseError):
            running.submit(written(batch(2, many))).result()

    assert requests_stored() == 1
    assert running.submit(sent(2)).result()
    assert requests_stored() == 2


def running_settings(running: Writer) -> dict[str, Any]:
    """The settings of the connection that the writer's own thread has; it opens a new one."""

    def own() -> dict[str, Any]:
        connections["telemetry"].close()
        return connections["telemetry"].settings_dict

    return running._thread.submit(own).result()


def test_a_deleted_database_is_made_anew_and_what_it_held_is_a_gap(
    running: Writer, database: Path
) -> None:
    running.submit(sent(1)).result()
    running.submit(sent(2)).result()
    for file in database.parent.glob("telemetry.sqlite3*"):
        file.unlink()

    assert running.submit(sent(3)).result()

    assert requests_stored() == 1
    gap = TelemetryGap.objects.get()
    assert (gap.from_seq, gap.to_seq) == (1, 2)
    assert database.stat().st_mode & 0o077 == 0


def test_figures_of_a_database_without_tables_are_unknown_and_no_page_fails(
    manager: User, database: Path
) -> None:
    scope = scope_of_user(manager)
    connections["telemetry"].close()
    for file in database.parent.glob("telemetry.sqlite3*"):
        file.unlink()
    window = Window.last(3600)

    assert queries.totals(scope, window).state is State.UNKNOWN
    assert queries.components(scope, window)[0] is State.UNKNOWN
    assert queries.requests(scope, queries.RequestFilter()).state is State.UNKNOWN
    assert queries.sessions(scope, queries.SessionFilter()).state is State.UNKNOWN
    assert queries.nodes() == []


def test_whoever_waits_for_telemetry_is_woken_after_the_commit(running: Writer) -> None:
    seen: list[int] = []

    def look() -> None:
        seen.append(NodeStream.objects.count())

    hooks.subscribe(look)
    try:
        running.submit(sent(1)).result()
    finally:
        hooks.unsubscribe(look)

    assert seen == [1]


def test_nodes_that_report_at_once_are_written_one_after_the_other(running: Writer) -> None:
    waiting = [
        running.submit(written(batch(seq, [row(seq * 10 + node)], boot_id=f"boot-{node}")))
        for seq in range(1, 6)
        for node in range(4)
    ]

    assert all(each.result() for each in waiting)
    assert requests_stored() == 20
