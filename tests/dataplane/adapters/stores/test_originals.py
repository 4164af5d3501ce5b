"""How every store keeps originals (03-proxy-and-recovery.md 4.3, 5.3, 5.4)."""

from __future__ import annotations

import pytest

from dataplane.adapters.stores import OffStore
from dataplane.adapters.stores.originals import Store
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    Payload,
    Recall,
    Recalled,
    Refused,
    Scope,
    SessionView,
)
from dataplane.core.text.content import content_key
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
    payload,
    recall,
    stash,
    turn,
)

# -- originals -----------------------------------------------------------------------------------


async def test_a_stashed_original_comes_back_byte_for_byte(store: Store) -> None:
    text = "naïve \u2028 text \x00 " + "long line of output\n" * 500

    committed = await stash(store, text)

    assert committed == Committed(frozenset({marker(text)}))
    assert await recall(store, marker(text)) == Recalled(Found.RESOLVED, text.encode())


async def test_off_keeps_nothing_and_says_so() -> None:
    store = OffStore()

    committed = await stash(store, "text")

    assert not store.persists
    assert committed == Committed(frozenset(), {marker("text"): Refused.UNAVAILABLE})
    assert await turn(store) == SessionView()
    assert await recall(store, marker("text")) == Recalled(Found.LOST)


async def test_a_store_that_keeps_originals_says_that_it_persists(store: Store) -> None:
    assert store.persists


@pytest.mark.parametrize(
    "marker_id",
    ["", "b162e82de872a20", "B162E82DE872A202", "b162e82de872a2021", "g" * 16, "a" * 23, "a" * 64],
)
async def test_an_id_of_another_shape_is_malformed(any_store: Store, marker_id: str) -> None:
    assert await recall(any_store, marker_id) == Recalled(Found.MALFORMED)


async def test_an_id_of_24_hex_characters_is_ours_too(store: Store) -> None:
    long_id = "0123456789abcdef01234567"
    await store.commit(Commit(ALICE, NOW, (Payload(long_id, b"text"),), ()))

    assert (await recall(store, long_id)).original == b"text"


async def test_another_original_under_the_same_id_is_refused(store: Store) -> None:
    await stash(store, "first")
    second = Commit(ALICE, NOW, (Payload(marker("first"), b"second"),), ())

    committed = await store.commit(second)

    assert committed == Committed(frozenset(), {marker("first"): Refused.COLLISION})
    assert (await recall(store, marker("first"))).original == b"first"


async def test_two_originals_under_one_id_in_one_commit_are_both_refused(store: Store) -> None:
    payloads = (payload("first"), Payload(marker("first"), b"other"))

    committed = await store.commit(Commit(ALICE, NOW, payloads, (decision("first"),)))

    assert committed == Committed(frozenset(), {marker("first"): Refused.COLLISION})
    assert (await turn(store)).frozen == {}


async def test_an_oversize_original_is_refused_and_the_others_are_not(store: Store) -> None:
    store.set_limits("acme", limits(max_payload_bytes=5))

    committed = await stash(store, "12345", "123456")

    assert committed == Committed(frozenset({marker("12345")}), {marker("123456"): Refused.FULL})


# -- the reserve ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "caps",
    [
        pytest.param({"max_entries": 4}, id="03-121-entries"),
        pytest.param({"max_bytes": 10}, id="03-121-bytes"),
    ],
)
async def test_a_full_reserve_refuses_and_evicts_nothing(
    store: Store, caps: dict[str, int]
) -> None:
    store.set_limits("acme", limits(**caps))
    await freeze(store, "text1")
    await stash(store, "text2")

    refused = await stash(store, "text3")
    renewed = await stash(store, "text1", renews=True)

    assert refused == Committed(frozenset(), {marker("text3"): Refused.FULL})
    assert renewed == Committed(frozenset({marker("text1")}))
    assert store.stats("acme").stash_refused == 1
    for text in ("text1", "text2"):
        assert (await recall(store, marker(text))).original == text.encode()
    assert (await turn(store)).frozen == {"mask": {"text1": decision("text1").replacement}}


async def test_a_renewal_of_an_original_that_has_gone_is_never_refused(store: Store) -> None:
    store.set_limits("acme", limits(max_entries=2))
    await stash(store, "text1")

    committed = await stash(store, "text2", renews=True)

    assert committed == Committed(frozenset({marker("text2")}))
    assert store.stats("acme").stash_revived == 1


async def test_expired_originals_are_collected_before_a_new_one_is_refused(store: Store) -> None:
    store.set_limits("acme", limits(max_entries=4))
    await stash(store, "text1", "text2")

    committed = await stash(store, "text3", "text4", at=MUCH_LATER)

    assert committed == Committed(frozenset({marker("text3"), marker("text4")}))
    assert store.stats("acme").stash_expired == 2


async def test_03_122_of_four_entries_one_stays_evictable(store: Store) -> None:
    store.set_limits("acme", limits(max_entries=4))

    await freeze(store, "text1", "text2")
    await recall(store, marker("text1"))

    view = await turn(store)
    assert len(view.frozen["mask"]) + len(view.kept) + store.stats().stash_live <= 4
    assert view.kept == {content_key("text1")}


# -- time ----------------------------------------------------------------------------------------


async def test_an_original_expires_when_nobody_asks_for_it(store: Store) -> None:
    await stash(store, "text")

    assert (await recall(store, marker("text"), at=MUCH_LATER)).found is Found.EXPIRED


async def test_originals_may_live_shorter_than_what_the_store_remembers_of_them(
    store: Store,
) -> None:
    store.set_limits("acme", limits(stash_ttl_s=600))
    await turn(store)
    await freeze(store, "text")

    later = NOW + 600 + 121  # past the grace of a durable store
    assert (await recall(store, marker("text"), at=later)).found is Found.EXPIRED
    assert (await turn(store, at=later)).frozen == {"mask": {"text": decision("text").replacement}}
    await stash(store, "text", renews=True, at=later)
    assert (await recall(store, marker("text"), at=later)).found is Found.RESOLVED


async def test_a_turn_keeps_originals_alive_that_live_shorter(store: Store) -> None:
    store.set_limits("acme", limits(stash_ttl_s=600))
    await turn(store)
    await freeze(store, "text")

    for step in (300, 600, 900):
        await turn(store, at=NOW + step)

    assert (await recall(store, marker("text"), at=NOW + 1400)).found is Found.RESOLVED


async def test_reading_an_original_keeps_it_alive(store: Store) -> None:
    await stash(store, "text")

    answers = [
        (await recall(store, marker("text"), at=NOW + step * TTL_S * 0.9)).found
        for step in range(1, 6)
    ]

    assert answers == [Found.RESOLVED] * 5


async def test_replaying_an_original_keeps_it_alive(store: Store) -> None:
    await stash(store, "text")
    for step in range(1, 6):
        await stash(store, "text", at=NOW + step * TTL_S * 0.9, renews=True)

    assert (await recall(store, marker("text"), at=NOW + 5 * TTL_S)).found is Found.RESOLVED


async def test_a_session_in_use_keeps_its_decisions_and_their_originals(store: Store) -> None:
    await freeze(store, "text")
    for step in range(1, 6):
        view = await turn(store, at=NOW + step * TTL_S * 0.9)

    assert "text" in view.frozen["mask"]
    assert (await recall(store, marker("text"), at=NOW + 5 * TTL_S)).found is Found.RESOLVED


async def test_03_120_an_expired_original_that_a_replay_brings_back_is_revived(
    store: Store,
) -> None:
    await stash(store, "text")

    committed = await stash(store, "text", at=MUCH_LATER, renews=True)

    assert committed == Committed(frozenset({marker("text")}))
    assert (await recall(store, marker("text"), at=MUCH_LATER)).found is Found.RESOLVED
    stats = store.stats("acme")
    assert (stats.stash_expired, stats.stash_revived) == (1, 1)


async def test_a_session_whose_clock_runs_behind_still_finds_its_originals(store: Store) -> None:
    await freeze(store, "old", scope=ALICE, at=NOW)
    await freeze(store, "new", scope=BOB, at=MUCH_LATER)

    view = await turn(store, scope=ALICE, at=NOW + 60)

    assert "old" in view.frozen["mask"]
    assert (await recall(store, marker("old"), at=NOW + 60)).found is Found.RESOLVED


# -- who may have it -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        pytest.param(ALICE, Found.RESOLVED, id="the session itself"),
        pytest.param(Scope("acme", "alice", "s9"), Found.RESOLVED, id="the principal elsewhere"),
        pytest.param(Scope("acme", "bob", "s1"), Found.FOREIGN_SESSION, id="the session's name"),
        pytest.param(BOB, Found.FOREIGN_SESSION, id="neither"),
    ],
)
async def test_an_original_is_for_the_key_that_made_it(
    store: Store, scope: Scope, found: Found
) -> None:
    await stash(store, "text", scope=ALICE)

    assert (await recall(store, marker("text"), scope=scope)).found is found


async def test_a_tenant_that_shares_its_originals_opens_them_to_all_its_keys(
    store: Store,
) -> None:
    await stash(store, "text", scope=ALICE)

    shared = await store.recall(Recall(BOB, marker("text"), NOW, shared=True))
    elsewhere = await store.recall(
        Recall(BOB._replace(tenant="globex"), marker("text"), NOW, shared=True)
    )

    assert shared.original == b"text"
    assert elsewhere.original is None


async def test_who_stashes_the_same_text_owns_it_too(store: Store) -> None:
    await stash(store, "text", scope=ALICE)
    await stash(store, "text", scope=BOB)

    assert (await recall(store, marker("text"), scope=BOB)).found is Found.RESOLVED
    assert marker("text") in (await turn(store, scope=BOB)).owned


async def test_a_view_names_the_ids_of_its_principal_and_of_nobody_else(store: Store) -> None:
    await stash(store, "text1", scope=Scope("acme", "alice", "s1"), at=NOW)
    await stash(store, "text2", scope=Scope("acme", "alice", "s2"), at=NOW + 1)
    await stash(store, "text3", scope=Scope("acme", "bob", "s1"), at=NOW + 2)
    await stash(store, "text4", scope=Scope("acme", "bob", "s2"), at=NOW + 3)

    owned = (await turn(store, scope=ALICE, at=NOW + 4)).owned

    assert owned == {marker("text1"): NOW, marker("text2"): NOW + 1}


async def test_tenants_with_the_same_session_and_content_share_nothing(store: Store) -> None:
    await freeze(store, "text", scope=ALICE)
    await recall(store, marker("text"), scope=ALICE)
    await turn(store, scope=ALICE)

    assert await turn(store, scope=ELSEWHERE) == SessionView()
    assert (await recall(store, marker("text"), scope=ELSEWHERE)).original is None


async def test_a_refused_tenant_does_not_narrow_another(store: Store) -> None:
    store.set_limits("acme", limits(max_entries=2))
    await stash(store, "text1", "text2", scope=ALICE)

    committed = await stash(store, "text1", "text2", scope=ELSEWHERE)

    assert committed.durable == {marker("text1"), marker("text2")}


# -- the record of minted ids --------------------------------------------------------------------


async def test_an_id_nobody_minted_is_proved_so_only_by_an_authoritative_ledger(
    any_store: Store,
) -> None:
    await turn(any_store)

    is_proof = any_store.stats().backend in {"sqlite", "redis"}
    expected = Found.NEVER_MINTED if is_proof else Found.LOST
    assert (await recall(any_store, "0" * 16)).found is expected


async def test_an_id_that_this_very_request_carries_is_lost_and_not_invented(
    any_store: Store,
) -> None:
    assert (await recall(any_store, "0" * 16, emitted=True)).found is Found.LOST


async def test_a_minted_id_is_known_as_expired_after_its_original_was_collected(
    store: Store,
) -> None:
    store.set_limits("acme", limits(max_entries=2))
    await stash(store, "text1")
    await stash(store, "text2", at=MUCH_LATER)

    assert store.stats("acme").stash_expired == 1
    assert (await recall(store, marker("text1"), at=MUCH_LATER)).found is Found.EXPIRED
