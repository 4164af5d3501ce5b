"""Redis stalls, dies, comes back, and comes back empty (03 §5.10, K13)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dataplane.core.effects import Found, Refused
from tests.dataplane.adapters.stores.builders import (
    freeze,
    marker,
    recall,
    stash,
    turn,
)
from tests.dataplane.adapters.stores.durable import LONG, eventually, impatient, is_available
from tests.dataplane.adapters.stores.shared import opened
from tests.servers import VALKEY, RedisServer, redis_server

# It would wait five seconds for more replicas before it sends the first one anything.
AT_ONCE = ("--repl-diskless-sync-delay", "0")


@contextlib.contextmanager
def stalled(server: RedisServer) -> Iterator[None]:
    """One that answers nobody, and takes up everything afterwards."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


async def test_k13_a_redis_that_is_killed_has_all_that_it_promised(mortal: RedisServer) -> None:
    async with opened(mortal.url) as store:
        promised: set[str] = set()

        async def write(number: int) -> None:
            while len(promised) < 200 and mortal.process is not None:
                text = f"{number} {len(promised)} " + LONG
                if (await freeze(store, text)).durable:
                    promised.add(text)

        writing = [asyncio.ensure_future(write(number)) for number in range(4)]

        async def is_enough() -> bool:
            return len(promised) >= 100

        await eventually(is_enough)
        mortal.kill()
        await asyncio.gather(*writing)
        mortal.start()
        await eventually(lambda: is_available(store))

        found = [(await recall(store, marker(text))).found for text in promised]
        assert found == [Found.RESOLVED] * len(promised)
        assert len(promised) >= 100


async def test_k13_a_stalled_redis_costs_new_decisions_and_not_the_known_ones(
    mortal: RedisServer,
) -> None:
    async with opened(mortal.url) as store:
        await freeze(store, "known")
        await turn(store)
        with stalled(mortal), impatient(store):
            committed = await freeze(store, "late")
            view = await turn(store)

        assert committed.refused == {marker("late"): Refused.UNAVAILABLE}
        assert not view.available
        assert view.frozen["mask"].keys() == {"known"}

        await eventually(lambda: is_available(store))
        assert (await turn(store)).frozen["mask"].keys() == {"known"}


async def test_after_several_failures_redis_is_left_alone_for_a_while(
    mortal: RedisServer,
) -> None:
    async with opened(mortal.url) as store:
        await turn(store)
        with stalled(mortal), impatient(store):
            for number in range(5):
                await stash(store, f"text {number}")
            before = store.stats("acme").commit_timeouts
            for number in range(50):
                await stash(store, f"more {number}")

    assert before == 5
    assert store.stats("acme").commit_timeouts == 5  # whoever had asked would have waited in vain


async def test_a_redis_that_comes_back_empty_proves_nothing(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(redis_url) as store:
        await freeze(store, "text")
        with contextlib.closing(redis.Redis.from_url(redis_url)) as client:
            client.flushall()

        view = await turn(store)

        assert view.frozen == {}
        assert "cg.store_reset tenant=acme: Redis no longer has what it had" in caplog.text
        assert not store.stats("acme").authoritative
        assert (await recall(store, marker("text"))).found is Found.LOST


async def test_k13_a_promoted_replica_has_what_was_waited_for(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(redis_server(tmp_path, *AT_ONCE, program=VALKEY))
        follows = ("--replicaof", f"127.0.0.1 {first.port}")
        place = tmp_path_factory.mktemp("replica")
        second = stack.enter_context(redis_server(place, *follows, program=VALKEY))
        async with opened(first.url, replicas=1) as store:

            async def is_followed() -> bool:
                return bool((await freeze(store, "text")).durable)

            await eventually(is_followed)
        first.kill()
        with contextlib.closing(second.client()) as client:
            client.replicaof("NO", "ONE")

        async with opened(second.url) as store:
            assert (await turn(store)).frozen["mask"].keys() == {"text"}
            assert (await recall(store, marker("text"))).original == b"text"


async def test_a_replica_keeps_nothing_for_a_node(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(redis_server(tmp_path, *AT_ONCE, program=VALKEY))
        follows = ("--replicaof", f"127.0.0.1 {first.port}")
        place = tmp_path_factory.mktemp("replica")
        second = stack.enter_context(redis_server(place, *follows, program=VALKEY))
        async with opened(second.url) as store:
            assert (await stash(store, "text")).refused == {marker("text"): Refused.UNAVAILABLE}
