"""What is purged is gone, and its markers are no alarm (03 §5.8)."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from dataplane.adapters.stores import StoreSet
from dataplane.adapters.stores.originals import Purged, Store
from dataplane.core.effects import Found, Recalled, Refused, Scope
from tests.dataplane.adapters.stores.builders import (
    ALICE,
    BOB,
    ELSEWHERE,
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

NEIGHBOUR = Scope(tenant="acme", principal="alice", session="s3")


async def test_a_purged_tenant_has_nothing_left_and_another_everything(store: Store) -> None:
    await turn(store, messages=4)
    await freeze(store, "text", LONG)
    await stash(store, "text", scope=ELSEWHERE)

    purged = await store.purge_tenant("acme")

    assert purged == Purged(originals=2, decisions=2, sessions=1)
    view = await turn(store)
    assert (view.previous, view.frozen, view.owned) == (None, {}, {})
    assert store.stats("acme").stash_live == 0
    assert (await recall(store, marker("text"), scope=ELSEWHERE)).original == b"text"


async def test_a_marker_of_a_purged_tenant_is_deleted_and_not_lost(store: Store) -> None:
    await freeze(store, "text")
    await store.purge_tenant("acme")

    assert (await recall(store, marker("text"))).found is Found.DELETED
    assert (await recall(store, marker("text"), emitted=True)).found is Found.DELETED


async def test_a_purged_tenant_may_begin_again(store: Store) -> None:
    await freeze(store, "text")
    await store.purge_tenant("acme")

    await freeze(store, "text")

    assert (await recall(store, marker("text"))).original == b"text"


async def test_a_purged_session_takes_only_what_nobody_else_owns(store: Store) -> None:
    await turn(store, messages=4)
    await freeze(store, "mine", "ours")
    await freeze(store, "ours", "yours", scope=BOB)

    purged = await store.purge_session(ALICE)

    assert purged == Purged(originals=1, decisions=2, sessions=1)
    view = await turn(store)
    assert (view.previous, view.frozen, view.lost) == (None, {}, {})
    assert (await recall(store, marker("mine"), emitted=True)).found is Found.DELETED
    assert (await recall(store, marker("ours"), scope=BOB)).original == b"ours"
    assert (await turn(store, scope=BOB)).frozen["mask"].keys() == {"ours", "yours"}
    assert store.stats("acme").frozen_dropped == 0


async def test_a_view_no_longer_owns_what_was_purged_with_another_session(store: Store) -> None:
    await freeze(store, "mine", scope=NEIGHBOUR)
    assert marker("mine") in (await turn(store)).owned

    await store.purge_session(NEIGHBOUR)

    assert marker("mine") not in (await turn(store)).owned


async def test_a_session_of_the_same_name_of_another_key_is_not_purged_with_it(
    store: Store,
) -> None:
    namesake = BOB._replace(session=ALICE.session)
    await turn(store, scope=namesake, messages=4)
    await freeze(store, "text", scope=namesake)
    await freeze(store, "text")

    await store.purge_session(ALICE)

    view = await turn(store, scope=namesake)
    assert view.previous is not None
    assert set(view.frozen["mask"]) == {"text"}
    assert (await recall(store, marker("text"), scope=ALICE)).found is Found.FOREIGN_SESSION
    assert (await recall(store, marker("text"), scope=namesake)).original == b"text"


async def test_a_session_that_was_never_seen_is_purged_without_effect(store: Store) -> None:
    await freeze(store, "text")

    assert await store.purge_session(ALICE._replace(session="unknown")) == Purged(0, 0, 0)
    assert (await recall(store, marker("text"))).original == b"text"


# -- files ---------------------------------------------------------------------------------------


async def test_the_files_of_a_purged_tenant_are_gone_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, LONG)
        file_of(tmp_path).with_name("store.db.corrupt-1").write_text("an earlier one")

        await store.purge_tenant("acme")

        assert found_below(tmp_path, "store.db*") == []


async def test_a_deletion_is_remembered_by_the_next_process(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, LONG)
        await store.purge_tenant("acme")
    async with opened(tmp_path) as store:
        assert await recall(store, marker(LONG), emitted=True) == Recalled(Found.DELETED)


async def test_another_process_notices_that_the_tenant_was_purged(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        await freeze(one, "text")
        await turn(other)

        await one.purge_tenant("acme")

        async def has_noticed() -> bool:
            view = await turn(other)
            return view.available and view.frozen == {}

        await eventually(has_noticed)
        assert (await stash(other, "new")).durable == {marker("new")}
        assert (await recall(one, marker("new"))).original == b"new"


async def test_a_purge_during_traffic_leaves_nothing_that_was_written_before_it(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:

        async def write(number: int) -> None:
            await freeze(store, f"text {number}")

        writing = [asyncio.ensure_future(write(number)) for number in range(50)]
        await asyncio.sleep(0)
        await store.purge_tenant("acme")
        await asyncio.gather(*writing)

        assert (await stash(store, "new")).durable == {marker("new")}


async def test_a_retired_tenant_is_purged_at_the_start_and_keeps_nothing_more(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, LONG)
    stores = StoreSet(tmp_path, timeout_s=PATIENCE_S)
    stores.retire("acme")
    await stores.start()

    async def is_gone() -> bool:
        return not found_below(tmp_path, "store.db*")

    await eventually(is_gone)

    late = await stash(stores, "late")
    assert late.refused == {marker("late"): Refused.UNAVAILABLE}
    assert found_below(tmp_path, "store.db*") == []
    stores.configure("acme", "sqlite")
    assert (await stash(stores, "again")).durable == {marker("again")}
    await stores.close()


async def test_a_purge_that_fails_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, "text")
        directory = file_of(tmp_path).parent
        (directory / "store.db.new-1").mkdir()

        with contextlib.suppress(OSError):
            await store.purge_tenant("acme")
            raise AssertionError("the directory cannot be unlinked")

        (directory / "store.db.new-1").rmdir()
        await store.purge_tenant("acme")
        assert (await recall(store, marker("text"), scope=ALICE)).found is Found.DELETED
