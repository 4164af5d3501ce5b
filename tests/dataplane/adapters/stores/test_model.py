"""The memory store is the model of the durable ones: any history gives the same answers.

The clock moves by less than the batching of renewals or by more than every grace, so that they,
which differ only there, must agree.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataplane.adapters.stores import MemoryStore, SqliteStore
from dataplane.adapters.stores.originals import Store, StoreStats
from dataplane.adapters.stores.redis import RedisStore
from dataplane.core.effects import (
    Commit,
    FrozenDecision,
    OpenTurn,
    Payload,
    Recall,
    Scope,
    SessionView,
)
from dataplane.settings import SharedStore
from tests.dataplane.adapters.stores.builders import MUCH_LATER, NOW, limits, marker
from tests.patience import PATIENCE_MS, PATIENCE_S
from tests.servers import RedisServer

Asked = OpenTurn | Commit | Recall
LIMITS = limits(max_entries=8, max_sessions=2, max_bytes=40, max_payload_bytes=9)
TEXTS = ("text1", "text2", "text3", "text4", "text5", "text  1", "far too long")
AGES_S = (0.0, 1.0, 2.0, MUCH_LATER - NOW, 2 * (MUCH_LATER - NOW))
COUNTED = (
    "stash_live",
    "stash_bytes",
    "stash_refused",
    "stash_expired",
    "stash_revived",
    "frozen_dropped",
    "frozen_repaired",
)

scopes = st.builds(
    Scope,
    tenant=st.just("acme"),
    principal=st.sampled_from(["alice", "bob"]),
    session=st.sampled_from(["s1", "s2", "s3"]),
    thread=st.sampled_from(["", "a:1"]),
    alias=st.sampled_from(["", "", "s3", "s4"]),
)
times = st.sampled_from(AGES_S).map(lambda age: NOW + age)
payloads = st.builds(
    lambda text, forged, renews: Payload(marker(text), forged or text.encode(), renews),
    st.sampled_from(TEXTS),
    st.sampled_from([b"", b"", b"", b"", b"other"]),
    st.booleans(),
)
decisions = st.builds(
    lambda component, text, version, is_plain: FrozenDecision(
        component, text, f"[masked {version}]", () if is_plain else (marker(text),)
    ),
    st.sampled_from(["mask", "collapse"]),
    st.sampled_from(TEXTS),
    st.integers(1, 2),
    st.booleans(),
)
reaches = st.sampled_from(["session", "tenant", "auto", "auto"])
turns = st.builds(
    OpenTurn,
    scopes,
    st.integers(0, 9),
    times,
    st.sampled_from([0, 300, 3600]),
    st.booleans(),
    decides=st.just(value=True),
    reach=reaches,
)
commits = st.builds(
    Commit,
    scopes,
    times,
    st.lists(payloads, max_size=4).map(tuple),
    st.lists(decisions, max_size=4).map(tuple),
)
recalls = st.builds(
    Recall,
    scopes,
    st.sampled_from(TEXTS).map(marker),
    times,
    st.booleans(),
    st.just(value=True),
    st.booleans(),
    reaches,
)
histories = st.lists(turns | commits | recalls, max_size=25)


async def perform(store: Store, wanted: Asked) -> Any:
    if isinstance(wanted, OpenTurn):
        return comparable(await store.open_turn(wanted))
    if isinstance(wanted, Commit):
        return await store.commit(wanted)
    return await store.recall(wanted)


def comparable(view: SessionView) -> tuple[object, ...]:
    """All but the times of renewal, which one store batches."""
    frozen = {name: known for name, known in view.frozen.items() if known}
    return view.previous, frozen, view.lost, view.kept, set(view.owned), view.available


def counted(stats: StoreStats) -> dict[str, int]:
    return {name: getattr(stats, name) for name in COUNTED}


async def answers(store: Store, history: list[Asked]) -> list[Any]:
    store.set_limits("acme", LIMITS)
    await store.start()
    given = [(wanted, await perform(store, wanted)) for wanted in history]
    await store.close()
    return [*given, counted(store.stats())]


every_history = given(history=histories)
enough = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@every_history
@enough
def test_memory_and_sqlite_answer_every_history_alike(history: list[Asked]) -> None:
    with tempfile.TemporaryDirectory() as state_dir:
        durable = SqliteStore(Path(state_dir), timeout_s=PATIENCE_S)

        assert asyncio.run(answers(durable, history)) == asyncio.run(
            answers(MemoryStore(), history)
        )


@every_history
@enough
def test_memory_and_redis_answer_every_history_alike(
    redis_running: RedisServer, history: list[Asked]
) -> None:
    redis_running.client().flushall()

    async def asked_of_redis() -> list[Any]:
        place = SharedStore(redis_running.url, commit_timeout_ms=PATIENCE_MS)
        return await answers(RedisStore(place), history)

    assert asyncio.run(asked_of_redis()) == asyncio.run(answers(MemoryStore(), history))
