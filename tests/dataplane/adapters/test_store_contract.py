"""What every store does, whatever keeps the bytes (03-proxy-and-recovery.md 4.3 and 5.3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dataplane.adapters.originals import Store
from dataplane.adapters.stores import MemoryStore, OffStore, SqliteStore
from dataplane.core.content import content_key
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    FrozenDecision,
    PastTurn,
    Payload,
    Recalled,
    Refused,
    Scope,
    SessionView,
)
from tests.dataplane.adapters.store_requests import (
    ALICE,
    BOB,
    ELSEWHERE,
    LIMITS,
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


def build(kind: str, state_dir: Path) -> Store:
    if kind == "memory":
        return MemoryStore(LIMITS)
    if kind == "sqlite":
        return SqliteStore(state_dir, limits=LIMITS, timeout_s=5.0)
    return OffStore()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every backend that keeps anything."""
    built = build(request.param, tmp_path)
    await built.start()
    yield built
    await built.close()


@pytest.fixture(params=["memory", "sqlite", "off"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    built = build(request.param, tmp_path)
    await built.start()
    yield built
    await built.close()


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
        pytest.param(Scope("acme", "bob", "s1"), Found.RESOLVED, id="the session's lineage"),
        pytest.param(BOB, Found.FOREIGN_SESSION, id="neither"),
    ],
)
async def test_an_original_is_for_its_principal_and_its_session(
    store: Store, scope: Scope, found: Found
) -> None:
    await stash(store, "text", scope=ALICE)

    assert (await recall(store, marker("text"), scope=scope)).found is found


async def test_who_stashes_the_same_text_owns_it_too(store: Store) -> None:
    await stash(store, "text", scope=ALICE)
    await stash(store, "text", scope=BOB)

    assert (await recall(store, marker("text"), scope=BOB)).found is Found.RESOLVED
    assert marker("text") in (await turn(store, scope=BOB)).owned


async def test_a_view_names_the_ids_of_its_principal_and_of_its_session(store: Store) -> None:
    await stash(store, "text1", scope=Scope("acme", "alice", "s1"), at=NOW)
    await stash(store, "text2", scope=Scope("acme", "alice", "s2"), at=NOW + 1)
    await stash(store, "text3", scope=Scope("acme", "bob", "s1"), at=NOW + 2)
    await stash(store, "text4", scope=Scope("acme", "bob", "s2"), at=NOW + 3)

    owned = (await turn(store, scope=ALICE, at=NOW + 4)).owned

    assert owned == {marker("text1"): NOW, marker("text2"): NOW + 1, marker("text3"): NOW + 2}


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


# -- kept verbatim -------------------------------------------------------------------------------


async def test_a_recalled_content_is_kept_verbatim_in_the_whole_tenant(store: Store) -> None:
    await stash(store, "some  text <<cg:b162e82de872a202>>")

    await recall(store, marker("some  text <<cg:b162e82de872a202>>"))

    assert (await turn(store, scope=BOB)).kept == {content_key("some text")}


async def test_a_recall_for_somebody_who_does_not_show_it_to_the_model_keeps_nothing(
    store: Store,
) -> None:
    await stash(store, "text")

    await recall(store, marker("text"), keep=False)

    assert (await turn(store)).kept == frozenset()


async def test_an_unsuccessful_recall_keeps_nothing(store: Store) -> None:
    await stash(store, "text", scope=ALICE)

    await recall(store, marker("text"), scope=BOB)

    assert (await turn(store)).kept == frozenset()


async def test_only_the_newest_quarter_of_the_entries_is_kept_verbatim(store: Store) -> None:
    store.set_limits("acme", limits(max_entries=8))
    for text in ("text1", "text2", "text3"):
        await stash(store, text)
        await recall(store, marker(text))

    assert (await turn(store)).kept == {content_key("text2"), content_key("text3")}


# -- decisions -----------------------------------------------------------------------------------


async def test_a_frozen_decision_comes_back_in_every_later_turn(store: Store) -> None:
    await turn(store)
    await freeze(store, "text1")
    first = await turn(store)
    await freeze(store, "text2")
    second = await turn(store)

    replaced = {text: decision(text).replacement for text in ("text1", "text2")}
    assert first.frozen == {"mask": {"text1": replaced["text1"]}}
    assert second.frozen == {"mask": replaced}


async def test_a_decision_is_known_by_component_and_session(store: Store) -> None:
    decisions = (decision("text", "mask", "A"), decision("text", "collapse", "B"))
    await store.commit(Commit(ALICE, NOW, (payload("text"),), decisions))

    assert (await turn(store)).frozen == {"mask": {"text": "A"}, "collapse": {"text": "B"}}
    assert (await turn(store, scope=BOB)).frozen == {}


async def test_a_decision_whose_original_is_refused_is_not_remembered(store: Store) -> None:
    store.set_limits("acme", limits(max_payload_bytes=5))

    await freeze(store, "short", "too long")

    assert (await turn(store)).frozen == {"mask": {"short": decision("short").replacement}}


async def test_a_decision_about_an_original_nobody_stashed_is_not_remembered(
    store: Store,
) -> None:
    await store.commit(Commit(ALICE, NOW, (), (decision("text"),)))

    assert (await turn(store)).frozen == {}


async def test_a_decision_may_name_an_original_of_an_earlier_commit(store: Store) -> None:
    await stash(store, "text")
    await store.commit(Commit(ALICE, NOW, (), (decision("text"),)))

    assert (await turn(store)).frozen == {"mask": {"text": decision("text").replacement}}


async def test_a_decision_without_a_marker_needs_no_original(store: Store) -> None:
    plain = FrozenDecision("mask", "text", "[masked]", ())
    await store.commit(Commit(ALICE, NOW, (), (plain,)))

    assert (await turn(store)).frozen == {"mask": {"text": "[masked]"}}


async def test_decisions_of_a_session_that_expired_are_reported_lost(store: Store) -> None:
    await freeze(store, "text")

    view = await turn(store, at=MUCH_LATER)

    assert (view.previous, view.frozen, view.lost) == (None, {}, {"mask": frozenset({"text"})})
    assert store.stats("acme").frozen_dropped == 1


async def test_03_123_a_lost_decision_that_is_made_again_is_repaired(store: Store) -> None:
    store.set_limits("acme", limits(max_entries=4))
    await turn(store, scope=ALICE)
    await freeze(store, "text1")
    plain = [FrozenDecision("mask", f"text{n}", "[masked]", ()) for n in range(2, 6)]
    await store.commit(Commit(ALICE, NOW, (), tuple(plain)))

    lost = (await turn(store)).lost["mask"]
    again = FrozenDecision("mask", min(lost), "[masked]", ())
    store.set_limits("acme", limits(max_entries=100))
    await store.commit(Commit(ALICE, NOW, (), (again,)))

    view = await turn(store)
    assert view.lost.get("mask", frozenset()) == lost - {min(lost)}
    assert view.frozen["mask"][min(lost)] == "[masked]"
    stats = store.stats("acme")
    assert (stats.frozen_dropped, stats.frozen_repaired) == (len(lost), 1)


async def test_decisions_over_the_pin_cap_leave_the_session_used_longest_ago_first(
    store: Store,
) -> None:
    store.set_limits("acme", limits(max_entries=4))
    for number, scope in enumerate((BOB, ALICE), start=1):
        await turn(store, scope=scope, at=NOW + number)
        made = [FrozenDecision("mask", f"{scope.session}-{n}", "[masked]", ()) for n in (1, 2, 3)]
        await store.commit(Commit(scope, NOW + number, (), tuple(made)))

    bob, alice = await turn(store, scope=BOB), await turn(store, scope=ALICE)

    assert bob.lost == {"mask": frozenset({"s2-3"})}
    assert set(bob.frozen["mask"]) == {"s2-1", "s2-2"}
    assert alice.lost == {"mask": frozenset({"s1-1"})}


async def test_what_was_lost_is_remembered_up_to_max_entries(store: Store) -> None:
    store.set_limits("acme", limits(max_entries=4))
    for text in ("a", "b", "c", "d", "e"):
        scope = Scope("acme", "alice", f"session-{text}")
        await store.commit(Commit(scope, NOW, (), (FrozenDecision("mask", text, "[m]", ()),)))
        await turn(store, scope=scope, at=MUCH_LATER)

    first = await turn(store, scope=Scope("acme", "alice", "session-a"), at=MUCH_LATER)
    last = await turn(store, scope=Scope("acme", "alice", "session-e"), at=MUCH_LATER)
    assert (first.lost, last.lost) == ({}, {"mask": frozenset({"e"})})


# -- the record of minted ids --------------------------------------------------------------------


async def test_an_id_nobody_minted_is_proved_so_only_by_an_authoritative_ledger(
    any_store: Store,
) -> None:
    await turn(any_store)

    expected = Found.NEVER_MINTED if any_store.stats().backend == "sqlite" else Found.LOST
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


# -- turns ---------------------------------------------------------------------------------------


async def test_a_turn_is_told_the_one_before_it(store: Store) -> None:
    first = await turn(store, messages=3, at=NOW, ttl_s=300)
    second = await turn(store, messages=5, at=NOW + 10, ttl_s=300)
    third = await turn(store, messages=7, at=NOW + 20, ttl_s=300)

    assert first.previous is None
    assert second.previous == PastTurn(3, NOW, 300, offered=False)
    assert third.previous == PastTurn(5, NOW + 10, 300, offered=False)


async def test_the_cache_lifetime_of_a_thread_only_widens(store: Store) -> None:
    await turn(store, ttl_s=300)
    await turn(store, ttl_s=3600)
    await turn(store, ttl_s=300)

    previous = (await turn(store, ttl_s=300)).previous
    assert previous
    assert previous.ttl_s == 3600


async def test_a_tool_once_offered_stays_offered(store: Store) -> None:
    await turn(store, offered=True)
    await turn(store, offered=False)

    previous = (await turn(store)).previous
    assert previous
    assert previous.offered


async def test_threads_of_a_session_have_turns_of_their_own_and_share_decisions(
    store: Store,
) -> None:
    await turn(store, messages=9)
    await freeze(store, "text")

    view = await turn(store, scope=Scope("acme", "alice", "s1", thread="a:1"))

    assert view.previous is None
    assert set(view.frozen["mask"]) == {"text"}


async def test_a_conversation_is_recognised_under_its_alias(store: Store) -> None:
    await turn(store, scope=Scope("acme", "alice", "derived"), messages=3, offered=True)

    named = Scope("acme", "alice", "explicit", alias="derived")
    view = await turn(store, scope=named, at=NOW + 5)

    assert view.previous == PastTurn(3, NOW, 300, offered=True)


async def test_of_session_and_alias_the_later_clock_and_the_longer_lifetime_win(
    store: Store,
) -> None:
    named = Scope("acme", "alice", "explicit", alias="derived")
    await turn(store, scope=named, messages=4, at=NOW, ttl_s=300)
    unnamed = Scope("acme", "alice", "derived")
    await turn(store, scope=unnamed, messages=2, at=NOW + 50, ttl_s=3600)

    previous = (await turn(store, scope=named, at=NOW + 60)).previous

    assert previous == PastTurn(4, NOW + 50, 3600, offered=False)


async def test_concurrent_turns_of_one_thread_are_told_of_each_other_once(store: Store) -> None:
    turns = [turn(store, messages=n, at=NOW + n) for n in range(1, 21)]

    views = await asyncio.gather(*turns)

    told = [view.previous.messages for view in views if view.previous]
    assert len(told) == len(set(told)) == 19


async def test_over_max_sessions_the_turns_used_longest_ago_are_forgotten(store: Store) -> None:
    store.set_limits("acme", limits(max_sessions=2))
    scopes = [Scope("acme", "alice", f"session-{n}") for n in range(3)]
    await freeze(store, "text", scope=scopes[0])
    for number, scope in enumerate(scopes):
        await turn(store, scope=scope, at=NOW + number)

    newest = await turn(store, scope=scopes[2], at=NOW + 3)
    oldest = await turn(store, scope=scopes[0], at=NOW + 4)

    assert newest.previous is not None
    assert oldest.previous is None
    assert set(oldest.frozen["mask"]) == {"text"}


# -- figures -------------------------------------------------------------------------------------


async def test_the_figures_of_a_tenant_are_its_own(store: Store) -> None:
    await stash(store, "12345", "1234567", scope=ALICE)
    await stash(store, "123", scope=ELSEWHERE)

    acme, everybody = store.stats("acme"), store.stats()

    assert (acme.stash_live, acme.stash_bytes) == (2, 12)
    assert (everybody.stash_live, everybody.stash_bytes) == (3, 15)
    assert acme.stash_capacity == LIMITS.max_entries // 2
    assert everybody.commits == 2
