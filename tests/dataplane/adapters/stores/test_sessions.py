"""How every store keeps the state of sessions (03-proxy-and-recovery.md 2.4, 2.5, 5.3)."""

from __future__ import annotations

import asyncio

import pytest

from dataplane.adapters.stores.originals import Store
from dataplane.core.effects import (
    Commit,
    FrozenDecision,
    PastTurn,
    Reach,
    Scope,
)
from dataplane.core.text.content import content_key
from tests.dataplane.adapters.stores.builders import (
    ALICE,
    BOB,
    ELSEWHERE,
    LIMITS,
    MUCH_LATER,
    NOW,
    decision,
    freeze,
    limits,
    marker,
    payload,
    recall,
    stash,
    turn,
)

# -- kept verbatim -------------------------------------------------------------------------------


ASKED = content_key("some text")
HERE = ALICE._replace(thread="a:1")
BESIDE = ALICE._replace(session="s3")
NAMESAKE = BOB._replace(session=ALICE.session)
DAY_S = 86_400


async def kept_in(store: Store, *scopes: Scope, reach: Reach = "auto") -> list[bool]:
    """Where the text stays verbatim."""
    return [ASKED in (await turn(store, scope=scope, reach=reach)).kept for scope in scopes]


async def ask_back(store: Store, *scopes: Scope, at: float = NOW, reach: Reach = "auto") -> None:
    """Each of them asks for what is the same text up to white space."""
    for number, scope in enumerate(scopes):
        text = "some" + " " * (number + 1) + "text <<cg:b162e82de872a202>>"
        await stash(store, text, scope=scope, at=at)
        await recall(store, marker(text), scope=scope, at=at, reach=reach)


async def test_a_text_that_was_asked_back_is_kept_in_its_session_and_all_its_threads(
    store: Store,
) -> None:
    await ask_back(store, ALICE)

    assert await kept_in(store, ALICE, HERE, BESIDE, NAMESAKE, BOB) == [True, True] + [False] * 3


@pytest.mark.parametrize("second", [BESIDE, NAMESAKE, BOB])
async def test_what_two_sessions_asked_back_within_a_day_is_kept_in_the_tenant(
    store: Store, second: Scope
) -> None:
    third = Scope("acme", "carol", "s9")
    await ask_back(store, ALICE)
    await ask_back(store, ALICE)
    assert await kept_in(store, third) == [False]

    await ask_back(store, second, at=NOW + 60)

    assert await kept_in(store, third) == [True]
    assert await kept_in(store, third, ALICE, reach="session") == [False, True]
    assert await kept_in(store, third._replace(tenant="globex")) == [False]


async def test_two_sessions_that_asked_on_different_days_keep_it_for_themselves(
    store: Store,
) -> None:
    store.set_limits("acme", limits(ttl_s=10 * DAY_S))
    await ask_back(store, ALICE)
    await ask_back(store, BOB, at=NOW + DAY_S + 1)

    assert await kept_in(store, ALICE, BOB, BESIDE) == [True, True, False]


async def test_how_far_a_text_is_kept_is_what_the_document_says(store: Store) -> None:
    await ask_back(store, ALICE, BOB, reach="session")
    assert await kept_in(store, BESIDE) == [False]

    await ask_back(store, ALICE, reach="tenant")
    assert await kept_in(store, BESIDE) == [True]


async def test_a_purged_session_keeps_nothing_verbatim(store: Store) -> None:
    await ask_back(store, ALICE)

    await store.purge_session(ALICE)

    assert await kept_in(store, ALICE) == [False]


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


async def test_a_session_of_the_same_name_of_another_key_shares_nothing(store: Store) -> None:
    await turn(store, messages=7)
    await freeze(store, "text")

    view = await turn(store, scope=NAMESAKE)

    assert (view.previous, view.frozen, view.owned) == (None, {}, {})


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


async def test_of_another_session_an_alias_tells_the_clock_and_the_lifetime_and_nothing_else(
    store: Store,
) -> None:
    """Neither its transcript nor what its model was offered is this session's."""
    await turn(store, scope=Scope("acme", "alice", "derived"), messages=3, offered=True)

    named = Scope("acme", "alice", "explicit", alias="derived")
    view = await turn(store, scope=named, at=NOW + 5, messages=5)

    assert view.previous == PastTurn(0, NOW, 300, offered=False)


async def test_nor_does_an_alias_carry_an_offer_from_one_session_to_the_next(store: Store) -> None:
    first, second = (Scope("acme", "alice", name, alias="derived") for name in ("one", "other"))
    await turn(store, scope=first, offered=True)
    await turn(store, scope=second)

    unnamed = await turn(store, scope=Scope("acme", "alice", "derived"))
    third = await turn(store, scope=Scope("acme", "alice", "third", alias="derived"))

    assert not unnamed.previous.offered  # type: ignore[union-attr]
    assert not third.previous.offered  # type: ignore[union-attr]
    assert (await turn(store, scope=first)).previous.offered  # type: ignore[union-attr]


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


async def test_a_longer_transcript_under_the_alias_is_another_conversation(store: Store) -> None:
    """Sessions that begin with the same words share an alias, not a cached prefix."""
    derived = Scope("acme", "alice", "first-words")
    await turn(store, scope=derived, messages=41)

    view = await turn(
        store, scope=Scope("acme", "alice", "explicit", alias="first-words"), messages=1
    )

    assert view.previous is not None
    assert (view.previous.messages, view.previous.at) == (0, NOW)


async def test_sessions_that_begin_with_the_same_words_do_not_share_a_transcript(
    store: Store,
) -> None:
    for name in ("one", "other"):
        await turn(store, scope=Scope("acme", "alice", name, alias="same-words"), messages=9)

    view = await turn(
        store, scope=Scope("acme", "alice", "third", alias="same-words"), messages=9, at=NOW + 5
    )

    assert view.previous is not None
    assert (view.previous.messages, view.previous.at) == (0, NOW)
