"""What a store remembers of a thread's prompt cache: pings, and what answers reported (03 §2.5)."""

from __future__ import annotations

import pytest

from dataplane.adapters.stores import OffStore
from dataplane.adapters.stores.originals import Cached, Store, Touch
from dataplane.core.effects import (
    OpenTurn,
    PastTurn,
    Scope,
)
from tests.dataplane.adapters.stores.builders import (
    ALICE,
    BOB,
    ELSEWHERE,
    NOW,
    turn,
)
from tests.dataplane.adapters.stores.durable import eventually

# -- pings ---------------------------------------------------------------------------------------


async def test_case_138_a_ping_restarts_the_clock_of_the_thread_and_is_no_turn(
    store: Store,
) -> None:
    await turn(store, messages=7, at=NOW)

    assert await store.touch_turn(Touch(ALICE, NOW + 280, since=NOW))

    previous = (await turn(store, messages=8, at=NOW + 300)).previous
    assert previous == PastTurn(7, NOW + 280, 300, offered=False)


async def test_a_ping_restarts_the_clock_of_the_alias_too(store: Store) -> None:
    named = ALICE._replace(alias="derived")
    await turn(store, scope=named, at=NOW)

    await store.touch_turn(Touch(named, NOW + 280, since=NOW))

    previous = (await turn(store, scope=ALICE._replace(session="derived"))).previous
    assert previous is not None
    assert previous.at == NOW + 280


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(Touch(ALICE, NOW + 280, since=NOW - 1), id="another turn came after"),
        pytest.param(Touch(ALICE._replace(thread="a:1"), NOW + 280, since=NOW), id="thread"),
        pytest.param(Touch(ELSEWHERE, NOW + 280, since=NOW), id="tenant"),
        pytest.param(Touch(BOB, NOW + 280, since=NOW), id="session"),
    ],
)
async def test_a_thread_that_went_on_is_not_touched(store: Store, wanted: Touch) -> None:
    await turn(store, at=NOW)

    assert not await store.touch_turn(wanted)

    previous = (await turn(store, at=NOW + 300)).previous
    assert previous is not None
    assert previous.at == NOW


async def test_a_turn_that_was_only_noted_can_be_touched(store: Store) -> None:
    await turn(store, at=NOW)
    undecided = OpenTurn(ALICE, 3, NOW + 10, 300, offered=False, decides=False)
    await store.open_turn(undecided)

    assert await store.touch_turn(Touch(ALICE, NOW + 290, since=NOW + 10))

    noted = await store.open_turn(undecided._replace(at=NOW + 300))
    assert noted.previous == PastTurn(3, NOW + 290, 300, offered=False)


async def test_a_turn_that_was_only_noted_is_not_written_over_a_later_one(store: Store) -> None:
    await turn(store, at=NOW)
    undecided = OpenTurn(ALICE, 3, NOW + 10, 300, offered=False, decides=False)
    await store.open_turn(undecided)

    await turn(store, messages=5, at=NOW + 20)
    assert not await store.touch_turn(Touch(ALICE, NOW + 290, since=NOW + 10))

    assert await store.touch_turn(Touch(ALICE, NOW + 300, since=NOW + 20))


async def test_a_store_that_keeps_nothing_touches_nothing() -> None:
    assert not await OffStore().touch_turn(Touch(ALICE, NOW + 280, since=NOW))


# -- what a provider says that it caches ---------------------------------------------------------


async def cached_at(store: Store, *, scope: Scope = ALICE, at: float = NOW) -> float | None:
    previous = (await turn(store, scope=scope, at=at)).previous
    return previous.cached_at if previous else None


async def test_a_thread_whose_answer_was_cached_is_known_as_such(store: Store) -> None:
    await turn(store, at=NOW)

    store.note_cached(Cached(ALICE, NOW))

    assert await cached_at(store, at=NOW + 10) == NOW
    assert await cached_at(store, at=NOW + 20) == NOW
    assert await cached_at(store, scope=ALICE._replace(thread="a:1"), at=NOW + 30) is None
    assert await cached_at(store, scope=ELSEWHERE, at=NOW + 30) is None


async def test_the_latest_cached_answer_counts_and_never_an_earlier_one(store: Store) -> None:
    await turn(store, at=NOW)
    for at in (NOW, NOW + 30, NOW + 20):
        store.note_cached(Cached(ALICE, at))

    assert await cached_at(store, at=NOW + 40) == NOW + 30


async def test_a_conversation_that_comes_under_two_names_is_cached_under_both(
    store: Store,
) -> None:
    named = ALICE._replace(alias="derived")
    await turn(store, scope=named, at=NOW)

    store.note_cached(Cached(named, NOW))

    async def is_noted() -> bool:
        return await cached_at(store, scope=ALICE._replace(session="derived")) == NOW

    await eventually(is_noted)


async def test_what_is_noted_before_a_turn_that_decides_nothing_outlasts_it(store: Store) -> None:
    await turn(store, at=NOW)
    store.note_cached(Cached(ALICE, NOW))
    await store.open_turn(OpenTurn(ALICE, 3, NOW + 10, 300, offered=False, decides=False))

    assert await cached_at(store, at=NOW + 20) == NOW


async def test_a_store_that_keeps_nothing_notes_nothing() -> None:
    OffStore().note_cached(Cached(ALICE, NOW))
