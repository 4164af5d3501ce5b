"""What holds of the store in Redis alone (03 §5.7 to 5.10, 10.9 (128, 129, 131))."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from dataplane.adapters.stores.redis import RedisStore
from dataplane.adapters.stores.redis_keys import SHADOW_REALM
from dataplane.adapters.stores.redis_link import StoreRefusedError
from dataplane.core.effects import Committed, Found, Recalled, Refused
from dataplane.encryption import StoreEncryption
from dataplane.settings import SharedStore
from tests.dataplane.adapters.stores.builders import (
    ALICE,
    BOB,
    ELSEWHERE,
    MUCH_LATER,
    NOW,
    TTL_S,
    decision,
    freeze,
    limits,
    marker,
    recall,
    stash,
    turn,
)
from tests.dataplane.adapters.stores.durable import LONG, eventually, impatient, is_available
from tests.dataplane.adapters.stores.shared import opened
from tests.patience import PATIENCE_MS
from tests.servers import VALKEY, RedisServer, redis_server

K1, K2 = bytes(32), bytes([2]) * 32
FIRST = StoreEncryption("k1", {"k1": K1})
ROTATED = StoreEncryption("k2", {"k1": K1, "k2": K2})


def keys_in(url: str, pattern: str = "*") -> list[bytes]:
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        found: Any = client.keys(pattern)
    return list(found)


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[RedisServer]:
    """One that knows WAITAOF and writes its append-only file to the disk every second."""
    with redis_server(tmp_path, "--appendfsync", "everysec", program=VALKEY) as server:
        yield server


# -- what it must promise ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(
            ["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"],
            "redis_evicts: maxmemory-policy is allkeys-lru",
            id="03-128",
        ),
        pytest.param(["--appendonly", "no"], "redis_forgets: appendonly is no", id="no-file"),
        pytest.param(["--appendfsync", "no"], "redis_forgets: .* appendfsync no", id="no-fsync"),
        pytest.param(
            ["--appendfsync", "everysec"],
            "redis_forgets: .* before Redis 7.2 always",
            id="nothing-to-wait-with",
        ),
        pytest.param(
            ["--rename-command", "CONFIG", "hidden"],
            "redis_unreadable: .* HEADRACE_STORE_REDIS_ASSUME_NOEVICTION=1",
            id="hidden",
        ),
    ],
)
async def test_a_redis_that_may_lose_originals_is_refused_by_name(
    tmp_path: Path, options: list[str], code: str
) -> None:
    with redis_server(tmp_path, *options) as server, pytest.raises(StoreRefusedError, match=code):
        async with opened(server.url):
            pass


async def test_an_operator_may_vouch_for_a_redis_that_hides_its_configuration(
    tmp_path: Path,
) -> None:
    with redis_server(tmp_path, "--rename-command", "CONFIG", "hidden") as server:
        store = RedisStore(
            SharedStore(server.url, assume_noeviction=True, commit_timeout_ms=PATIENCE_MS)
        )
        await store.start()

        assert (await stash(store, "text")).durable == {marker("text")}
        await store.close()


async def test_a_redis_that_turns_out_wrong_after_the_start_keeps_nothing(
    tmp_path: Path,
) -> None:
    with redis_server(tmp_path, "--appendonly", "no") as server:
        server.kill()
        async with opened(server.url) as store:
            server.start()

            assert (await stash(store, "text")).refused == {marker("text"): Refused.UNAVAILABLE}
            assert not await is_available(store)


async def test_a_redis_that_comes_back_with_another_configuration_is_looked_at_again(
    mortal: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(mortal.url) as store:
        await freeze(store, "text")
        mortal.kill()
        assert not await is_available(store)
        mortal.options += ("--maxmemory-policy", "allkeys-lru")
        mortal.start()

        assert (await stash(store, "new")).refused == {marker("new"): Refused.UNAVAILABLE}
        assert caplog.text.count("cg.store_refused: redis_evicts: maxmemory-policy is") == 1


async def test_a_commit_waits_for_the_append_only_file(valkey: RedisServer) -> None:
    async with opened(valkey.url) as store:
        await freeze(store, "text")
        valkey.kill()
        valkey.start()

        assert (await recall(store, marker("text"))).original == b"text"


async def test_03_128_a_short_count_is_no_commit_and_is_taken_back(valkey: RedisServer) -> None:
    async with opened(valkey.url, timeout_s=0.5) as store:
        await eventually(lambda: is_available(store))
        before = store.stats("acme").commit_timeouts
        valkey.client().config_set("appendfsync", "no")
        await asyncio.sleep(1.1)  # the second that is already promised

        committed = await freeze(store, "text")

        assert committed == Committed(
            frozenset(), {marker("text"): Refused.UNAVAILABLE}, failed=True
        )
        assert (await turn(store)).frozen.get("mask", {}) == {}
        assert store.stats("acme").commit_timeouts == before + 1


async def test_replicas_that_are_not_there_make_the_count_short(valkey: RedisServer) -> None:
    async with opened(valkey.url, replicas=1) as store:
        with impatient(store):
            refused = (await stash(store, "text")).refused

        assert refused == {marker("text"): Refused.UNAVAILABLE}


# -- several nodes -------------------------------------------------------------------------------


async def test_03_131_two_nodes_see_one_session(redis_url: str) -> None:
    async with opened(redis_url) as one, opened(redis_url) as other:
        await turn(one, messages=3)
        await freeze(one, "text")

        view = await turn(other, at=NOW + 5, messages=5)

        assert view.frozen == {"mask": {"text": decision("text").replacement}}
        assert view.previous is not None
        assert (view.previous.messages, view.previous.at) == (3, NOW)
        assert marker("text") in view.owned
        assert await recall(other, marker("text")) == Recalled(Found.RESOLVED, b"text")


async def test_what_one_node_adds_the_other_reads_and_only_that(redis_url: str) -> None:
    async with opened(redis_url) as one, opened(redis_url) as other:
        for number in range(3):
            await freeze(one, f"text {number}", at=NOW + number)
            view = await turn(other, at=NOW + number)
            assert len(view.frozen["mask"]) == number + 1


async def test_a_purge_on_one_node_is_seen_by_the_other(redis_url: str) -> None:
    sealed = partial(opened, redis_url, encryption=FIRST)
    async with sealed() as one, sealed() as other:
        await freeze(one, "text")
        await turn(other)

        await one.purge_tenant("acme")

        assert (await turn(other)).frozen.get("mask", {}) == {}
        assert (await stash(other, "new")).durable == {marker("new")}
        assert (await recall(one, marker("new"))).original == b"new"
        assert (await recall(other, marker("text"))).found is Found.DELETED


# -- deletion and time ---------------------------------------------------------------------------


async def test_a_purged_tenant_leaves_no_key_but_its_tally(redis_url: str) -> None:
    async with opened(redis_url, encryption=FIRST) as store:
        await turn(store)
        await freeze(store, "text", LONG)
        await stash(store, "text", scope=ELSEWHERE)

        await store.purge_tenant("acme")

        assert keys_in(redis_url, "cg:{acme}:*") == [b"cg:{acme}:tally"]
        assert (await recall(store, marker("text"), scope=ELSEWHERE)).original == b"text"


async def test_what_is_only_projected_lies_apart(redis_url: str) -> None:
    shadow = RedisStore(SharedStore(redis_url, commit_timeout_ms=PATIENCE_MS), realm=SHADOW_REALM)
    await shadow.start()
    async with opened(redis_url) as store:
        await freeze(shadow, "text")

        assert (await turn(store)).frozen == {}
        assert (await recall(store, marker("text"))).original is None
        await store.purge_tenant("acme")
    assert (await recall(shadow, marker("text"))).original == b"text"
    await shadow.close()


async def test_many_keys_are_purged_as_well_as_few(redis_url: str) -> None:
    async with opened(redis_url) as store:
        texts = [f"text {number}" for number in range(450)]  # each an original and its owners
        await freeze(store, *texts)
        assert len(keys_in(redis_url, "cg:{acme}:*")) > 900

        assert (await store.purge_tenant("acme")).originals == 450

        assert keys_in(redis_url, "cg:{acme}:*") == [b"cg:{acme}:tally"]


async def test_every_key_of_a_tenant_is_in_one_slot_of_a_cluster(redis_url: str) -> None:
    async with opened(redis_url, encryption=FIRST) as store:
        await turn(store)
        await freeze(store, "text")

    assert all(key.startswith(b"cg:{acme}:") for key in keys_in(redis_url))


async def test_what_has_expired_is_swept_and_its_keys_are_gone(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    async with opened(redis_url, sweep_every_s=0.05) as store:
        await freeze(store, LONG)
        await turn(store, at=MUCH_LATER, scope=BOB)

        async def is_swept() -> bool:
            await turn(store, at=MUCH_LATER, scope=BOB)
            return client.exists(f"cg:{{acme}}:p:{marker(LONG)}") == 0

        async def is_counted() -> bool:
            return store.stats("acme").stash_expired == 1

        await eventually(is_swept)
        assert client.hget("cg:{acme}:tally", "payloads") == b"0"
        assert keys_in(redis_url, "cg:{acme}:own:*") == []
        await eventually(is_counted)  # the keys are gone before the answer says how many


# -- encryption at rest --------------------------------------------------------------------------


def value_of(url: str, text: str) -> bytes:
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        value = client.hget(f"cg:{{acme}}:p:{marker(text)}", "v")
    assert isinstance(value, bytes)
    return value


def decisions_in(url: str) -> bytes:
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        found: Any = client.hvals("cg:{acme}:fv:" + ALICE.session_key)
    return b"".join(found)


async def test_a_sealed_store_shows_no_text_in_redis(redis_url: str) -> None:
    async with opened(redis_url) as store:
        await freeze(store, "secret")
        assert value_of(redis_url, "secret") == b"secret"
        assert b"[masked]" in decisions_in(redis_url)
        await store.purge_tenant("acme")
    async with opened(redis_url, encryption=FIRST) as store:
        await freeze(store, "secret")

    assert value_of(redis_url, "secret")[:5] == b"\x01\x00\x00\x00\x01"
    assert b"[masked]" not in decisions_in(redis_url)


@pytest.mark.parametrize(
    "encryption",
    [
        pytest.param(StoreEncryption("k1", {"k1": K2}), id="03-129-other-bytes"),
        pytest.param(None, id="03-129-none"),
    ],
)
async def test_03_129_a_wrong_key_reads_nothing_and_writes_nothing(
    redis_url: str, encryption: StoreEncryption | None
) -> None:
    async with opened(redis_url, encryption=FIRST) as store:
        await freeze(store, "text")
    async with opened(redis_url, encryption=encryption) as store:
        assert not await is_available(store)
        assert (await recall(store, marker("text"))).found is Found.DECRYPT_ERROR
        assert (await stash(store, "new")).refused == {marker("new"): Refused.UNAVAILABLE}
    async with opened(redis_url, encryption=FIRST) as store:
        assert (await recall(store, marker("text"))).original == b"text"


async def test_after_a_rotation_old_values_open_and_are_sealed_anew_when_they_are_read(
    redis_url: str,
) -> None:
    async with opened(redis_url, encryption=FIRST) as store:
        await freeze(store, "text")
    async with opened(redis_url, encryption=ROTATED) as store:
        assert (await turn(store)).frozen["mask"].keys() == {"text"}
        assert (await recall(store, marker("text"))).original == b"text"
        assert (await recall(store, marker("text"))).original == b"text"

    assert value_of(redis_url, "text")[:5] == b"\x01\x00\x00\x00\x02"


async def test_a_script_that_redis_forgot_is_given_to_it_again(redis_url: str) -> None:
    async with opened(redis_url) as store:
        with contextlib.closing(redis.Redis.from_url(redis_url)) as client:
            client.script_flush()

        assert (await stash(store, "text")).durable == {marker("text")}


async def test_the_payload_limit_of_a_tenant_counts_what_was_sent(redis_url: str) -> None:
    async with opened(redis_url) as store:
        store.set_limits("acme", limits(max_bytes=len(LONG) + 10))
        await stash(store, LONG)

        assert (await stash(store, "eleven byte")).refused == {marker("eleven byte"): Refused.FULL}


async def test_a_session_that_goes_on_renews_what_it_names(redis_url: str) -> None:
    async with opened(redis_url) as store:
        await freeze(store, "text")
        await turn(store, at=NOW + TTL_S * 0.9)

        found = await recall(store, marker("text"), at=NOW + TTL_S * 1.5, keep=False)
        assert found.original == b"text"
