"""Turns on which nothing is decided need no answer from the store and are recorded all the same."""

from __future__ import annotations

from pathlib import Path

from dataplane.adapters.stores import SqliteStore
from dataplane.adapters.stores.originals import Store
from dataplane.core.effects import OpenTurn
from tests.dataplane.adapters.stores.builders import ALICE, BOB, LIMITS, NOW
from tests.patience import PATIENCE_S

TURN = OpenTurn(ALICE, 3, NOW, 300, offered=True)


def undecided(messages: int, after_s: float) -> OpenTurn:
    return OpenTurn(ALICE, messages, NOW + after_s, 300, offered=False, decides=False)


async def test_the_next_turn_sees_a_turn_that_decided_nothing(store: Store) -> None:
    await store.open_turn(TURN)

    between = await store.open_turn(undecided(5, 10))
    after = await store.open_turn(TURN._replace(messages=7, at=NOW + 20))

    assert between.previous is not None
    assert (between.previous.messages, between.previous.offered) == (3, True)
    assert after.previous is not None
    assert (after.previous.messages, after.previous.at) == (5, NOW + 10)
    assert after.previous.offered


async def test_a_first_turn_that_decides_nothing_is_remembered(store: Store) -> None:
    assert (await store.open_turn(undecided(5, 0))).previous is None

    seen = await store.open_turn(TURN._replace(messages=7, at=NOW + 20))

    assert seen.previous is not None
    assert seen.previous.messages == 5


async def test_a_store_that_is_closed_has_written_them(tmp_path: Path) -> None:
    for turns in ((TURN, undecided(5, 10)), (TURN._replace(messages=7, at=NOW + 20),)):
        store = SqliteStore(tmp_path, limits=LIMITS, timeout_s=PATIENCE_S)
        await store.start()
        views = [await store.open_turn(turn) for turn in turns]
        await store.close()

    assert views[-1].previous is not None
    assert views[-1].previous.messages == 5


async def test_of_a_burst_the_newest_is_what_counts(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, limits=LIMITS, timeout_s=PATIENCE_S)
    await store.start()
    await store.open_turn(TURN)
    await store.open_turn(TURN._replace(scope=BOB))

    for number in range(50):
        await store.open_turn(undecided(5 + number, number))
    await store.close()

    reopened = SqliteStore(tmp_path, limits=LIMITS, timeout_s=PATIENCE_S)
    await reopened.start()
    seen = await reopened.open_turn(TURN._replace(messages=99, at=NOW + 99))
    await reopened.close()
    assert seen.previous is not None
    assert seen.previous.messages == 54
