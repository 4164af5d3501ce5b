"""The run loop: what is accepted, what is taken back, by which name (01 §1.3 to 1.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import pytest

from dataplane.core.components import collapse, dedup, mask
from dataplane.core.effects import Refused, SessionView
from dataplane.core.pipeline.loop import NO_KEY, run
from dataplane.core.pipeline.run import Conditions
from dataplane.core.port.declaration import Declaration, Kind, PipelineStep
from dataplane.core.port.signals import Event, Gate
from dataplane.core.port.turn import Decline, Happened, Offload, Rewrite, Step, ToolOutput, Turn
from dataplane.core.text.content import Content
from dataplane.core.text.marker import HINT
from tests.dataplane.core.build import M_ID, M, OffConfig, off_step, tool_messages


def component(decide: Any, kind: Kind = Kind.OFFLOAD, **facts: Any) -> PipelineStep:
    return PipelineStep(
        Declaration("probe", kind, "A component of a test.", OffConfig, (), decide, **facts),
        OffConfig(),
    )


def raises(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
    yield Offload(0, "[gone] ")
    raise RuntimeError("broken")


def test_a_component_that_raises_is_reverted_alone() -> None:  # 01 vector 41
    state = run([component(raises), off_step()], tool_messages(M), Conditions(SessionView()))

    broken, other = state.report.steps
    assert broken.reverted
    assert broken.error.startswith("panic:")
    assert other.acted
    assert state.text_of(0).text.startswith("[x] <<cg:")


def grows(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
    yield Offload(0, outputs[0].text + " and then some")


def test_a_replacement_that_would_not_be_smaller_is_declined_by_name() -> None:  # 01 vector 42
    state = run([component(grows)], tool_messages(M), Conditions(SessionView()))

    assert state.report.steps[0].gates == {"marker_no_win": 1}
    assert state.text_of(0).text == M


def drops(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
    yield Rewrite(0, "short")


def test_an_offload_without_a_stash_key_is_reverted() -> None:  # 01 vector 43
    state = run([component(drops)], tool_messages(M), Conditions(SessionView()))

    assert state.report.steps[0].reverted
    assert state.report.steps[0].error == NO_KEY
    assert state.text_of(0).text == M


@pytest.mark.parametrize("mode", ["off", "summary"])
def test_a_deliberately_irreversible_offload_is_accepted(mode: str) -> None:  # 01 vector 44
    state = run([off_step(mode)], tool_messages(M), Conditions(SessionView()))

    assert state.report.steps[0].irreversible
    assert state.report.steps[0].acted
    assert state.payloads() == ()


def test_full_mode_without_a_store_leaves_no_marker() -> None:
    state = run([off_step()], tool_messages(M), Conditions(SessionView(), persists=False))

    assert state.text_of(0).text == "[x] "
    assert state.report.steps[0].irreversible


def test_nothing_new_is_removed_when_the_model_could_not_ask_for_it() -> None:
    state = run([off_step()], tool_messages(M), Conditions(SessionView(), recoverable=False))

    assert state.report.steps[0].gates == {"no_recovery_path": 1}
    assert not state.changes


def test_what_the_session_removed_before_stays_removed_without_a_recovery_path() -> None:
    view = SessionView(owned={M_ID: 0.0})
    given = Conditions(view, cached_through=0, recoverable=False)

    state = run([off_step()], tool_messages(M), given)

    assert M_ID in state.text_of(0).text


def test_what_another_session_of_the_same_owner_removed_is_new_in_this_one() -> None:
    view = SessionView(owned={M_ID: 0.0})

    state = run([off_step()], tool_messages(M), Conditions(view, recoverable=False))

    assert state.report.steps[0].gates == {"no_recovery_path": 1}
    assert not state.changes


def test_nothing_new_is_decided_while_the_store_does_not_answer() -> None:
    view = SessionView(available=False)

    state = run([off_step()], tool_messages(M), Conditions(view))

    assert state.report.steps[0].gates == {"stash_unavailable": 1}


@pytest.mark.parametrize("mode", ["full", "summary", "off"])
def test_the_operators_switch_stops_new_removals_of_every_kind_by_its_own_name(mode: str) -> None:
    state = run([off_step(mode)], tool_messages(M), Conditions(SessionView(), stopped=True))

    assert state.report.steps[0].gates == {"no_new_offloads": 1}
    assert not state.changes


def test_the_operators_switch_leaves_what_the_session_removed_before() -> None:
    given = Conditions(SessionView(owned={M_ID: 0.0}), cached_through=0, stopped=True)

    state = run([off_step()], tool_messages(M), given)

    assert M_ID in state.text_of(0).text


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(Conditions(SessionView(), cached_through=1, stopped=True), id="stopped"),
        pytest.param(Conditions(SessionView(), cached_through=1, replay_only=True), id="replays"),
    ],
)
def test_a_removal_that_is_derived_anew_each_turn_goes_on_where_nothing_new_may_begin(
    given: Conditions,
) -> None:
    step = PipelineStep(dedup.COMPONENT, dedup.Config(marker_mode="summary"))

    state = run([step], tool_messages(M, M, M), given)

    assert state.text_of(1).text == "[identical to an earlier tool output] ⟪cg⟫"
    assert state.text_of(2).text == M


def test_gates_and_events_that_are_not_declared_are_counted_as_other() -> None:  # 03 §10.10 (134)
    def improvises(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
        yield Decline(Gate("made_up", "Nobody declared it."))
        yield Happened(Event("surprise", "Nor this."))

    state = run([component(improvises)], tool_messages(M), Conditions(SessionView()))

    assert state.report.steps[0].gates == {"other": 1}
    assert state.report.steps[0].events == {"other": 1}


def test_a_refused_original_puts_the_text_back_and_reverses_the_saving() -> None:  # 03 §10.5 (69)
    state = run([off_step()], tool_messages(M), Conditions(SessionView()))
    assert state.report.saved > 0

    state.settle(frozenset(), {M_ID: Refused.FULL})

    assert state.text_of(0).text == M
    assert state.report.saved == 0
    assert state.report.steps[0].gates == {"stash_reserve_exhausted": 1}


@pytest.mark.parametrize("was_lost", [False, True])
def test_a_decision_that_did_not_become_durable_is_not_sent_unless_it_repairs_one(
    *, was_lost: bool
) -> None:
    """Owning the original is not enough: the next turn would not know of the decision."""
    key = Content(M).sha256
    lost = {"mask": frozenset({key})} if was_lost else {}
    step = PipelineStep(mask.COMPONENT, mask.Config(keep_recent=0, keep_head_chars=0))
    view = SessionView(owned={M_ID: 0.0}, lost=lost)
    state = run([step], tool_messages(M), Conditions(view))
    assert M_ID in state.text_of(0).text

    state.settle(frozenset(), {M_ID: Refused.UNAVAILABLE})

    assert (M_ID in state.text_of(0).text) is was_lost


def test_a_discarded_change_is_charged_to_the_last_component_that_made_it() -> None:
    state = run([off_step()], tool_messages(M), Conditions(SessionView()))

    state.withdraw(0)

    assert state.report.steps[0].discarded == 1
    assert state.report.tokens_after == state.report.tokens_before


def shortens(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
    """A lossless component that takes out what it finds too much, markers left in place."""
    for output in outputs:
        yield Rewrite(output.index, output.text.replace("row ", "").replace(HINT, ""))


def test_a_discarded_rewrite_is_credited_with_nothing() -> None:
    step = component(shortens, Kind.REFORMAT)
    state = run([step], tool_messages(M, M + M), Conditions(SessionView()))
    saved = [state.messages[n].content.tokens - state.text_of(n).tokens for n in (0, 1)]
    (report,) = state.report.steps

    state.withdraw(0)
    assert (report.saved, report.fresh_saved) == (saved[1], saved[1])
    assert list(report.keys.values()) == [saved[1]]
    assert report.acted

    state.withdraw(1)
    assert (report.keys, report.saved, report.discarded) == ({}, 0, 2)
    assert report.skipped
    assert not report.mutated


def test_of_two_copies_that_share_a_marker_one_may_be_withdrawn_alone() -> None:
    state = run([off_step()], tool_messages(M, M), Conditions(SessionView()))
    (report,) = state.report.steps
    one = report.saved // 2
    assert report.keys == {M_ID: 2 * one}

    state.withdraw(0)

    assert report.keys == {M_ID: one}


def test_a_withdrawn_replay_was_no_hit() -> None:
    step = PipelineStep(mask.COMPONENT, mask.Config(keep_recent=0))
    (decision,) = run([step], tool_messages(M), Conditions(SessionView())).decisions()
    view = SessionView(frozen={"mask": {decision.decision_key: decision.replacement}})
    state = run([step], tool_messages(M), Conditions(view))
    assert state.report.steps[0].replays == 1

    state.settle(frozenset(), {M_ID: Refused.UNAVAILABLE})

    assert state.report.steps[0].replays == 0


def test_no_marker_is_sent_below_a_later_rewrite_unless_its_original_is_durable() -> None:
    steps = [off_step(), component(shortens, Kind.REFORMAT)]
    state = run(steps, tool_messages(M), Conditions(SessionView()))
    assert state.text_of(0).text == f"[x] <<cg:{M_ID}>>"
    assert state.emitted() == {M_ID}

    state.settle(frozenset(), {M_ID: Refused.FULL})

    assert state.text_of(0).text == M
    assert state.emitted() == frozenset()
    removal, rewrite = state.report.steps
    assert removal.gates == {"stash_reserve_exhausted": 1}
    assert (rewrite.gates, rewrite.discarded) == ({}, 1)
    assert state.report.saved == 0


@pytest.mark.parametrize("mode", ["off", "summary"])
def test_an_irreversible_decision_is_not_sent_when_nobody_will_remember_it(
    mode: Literal["off", "summary"],
) -> None:
    """The next turn would send the output verbatim inside the prefix that was cached without it."""
    step = PipelineStep(mask.COMPONENT, mask.Config(keep_recent=0, marker_mode=mode))
    state = run([step], tool_messages(M), Conditions(SessionView()))
    assert state.decisions()

    state.settle(frozenset(), {})
    assert state.text_of(0).text != M

    state.settle(frozenset(), {}, failed=True)
    assert state.text_of(0).text == M
    assert state.report.steps[0].gates == {"stash_unavailable": 1}


def test_a_planted_marker_does_not_keep_content_from_being_compacted() -> None:  # 03 §10.5 (66)
    planted = "<<cg:91c9568c40c8d8d1>> " + M

    state = run([off_step()], tool_messages(planted), Conditions(SessionView()))
    assert state.changes

    view = SessionView(owned={"91c9568c40c8d8d1": 0.0})
    state = run([off_step()], tool_messages(planted), Conditions(view))
    assert not state.changes


def test_an_offload_stashes_what_the_agent_sent_also_behind_a_lossless_component() -> None:
    def folds(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
        yield Rewrite(0, outputs[0].text.replace("row ", ""))

    lossless = component(folds, Kind.REFORMAT)
    state = run([lossless, off_step()], tool_messages(M), Conditions(SessionView()))

    assert [payload.original for payload in state.payloads()] == [M.encode()]
    assert state.payloads()[0].marker_id == M_ID


class TestOccurrences:
    """A decision names one place: two copies of a text are two decisions."""

    masking = PipelineStep(mask.COMPONENT, mask.Config(keep_recent=0))

    def test_a_copy_in_the_cached_prefix_is_not_flipped_because_another_was_replaced(self) -> None:
        first = run([self.masking], tool_messages(M), Conditions(SessionView()))
        (decision,) = first.decisions()
        view = SessionView(
            frozen={"mask": {decision.decision_key: decision.replacement}}, owned={M_ID: 0.0}
        )

        second = run(
            [self.masking],
            tool_messages(M, M),
            Conditions(view, cache_aware=True, cached_through=1),
        )

        assert second.text_of(0).text == decision.replacement
        assert second.text_of(1).text == M
        assert second.report.steps[0].gates == {"cached_prefix": 1}

    def test_each_copy_gets_a_decision_of_its_own(self) -> None:
        state = run([self.masking], tool_messages(M, M), Conditions(SessionView()))

        keys = [decision.decision_key for decision in state.decisions()]
        assert keys[1] == keys[0] + "#1"
        assert len(state.payloads()) == 1


def test_dedup_then_mask_leave_each_marker_resolvable_to_the_whole_text() -> None:
    steps = [
        PipelineStep(dedup.COMPONENT, dedup.Config()),
        PipelineStep(mask.COMPONENT, mask.Config(keep_recent=1)),
    ]

    state = run(steps, tool_messages(M, M, "ok"), Conditions(SessionView()))

    assert state.text_of(0).text.startswith("[older tool output masked; starts: row 001")
    assert state.text_of(1).text == f"[identical to an earlier tool output] <<cg:{M_ID}>>"
    assert {payload.original for payload in state.payloads()} == {M.encode()}


def test_a_replayed_decision_is_the_same_bytes_at_any_depth() -> None:  # 01 vector 10
    step = PipelineStep(mask.COMPONENT, mask.Config())
    first = run([step], tool_messages(M, "ok", "ok", "ok"), Conditions(SessionView()))
    (decision,) = first.decisions()
    view = SessionView(frozen={"mask": {decision.decision_key: decision.replacement}})

    later = run(
        [step],
        tool_messages(M, "ok", "ok", "ok", "ok"),
        Conditions(view, cache_aware=True, cached_through=3),
    )

    assert later.text_of(0).text == first.text_of(0).text
    assert later.report.steps[0].gates == {"below_min_tokens": 1}
    assert later.payloads()[0].renews


def test_a_lost_decision_of_a_pure_component_may_be_made_again_inside_the_prefix() -> None:
    step = PipelineStep(collapse.COMPONENT, collapse.Config(max_tokens=50))
    first = run([step], tool_messages(M), Conditions(SessionView()))
    (decision,) = first.decisions()
    view = SessionView(lost={"collapse": frozenset({decision.decision_key})})

    again = run([step], tool_messages(M), Conditions(view, cache_aware=True, cached_through=0))

    assert again.text_of(0).text == first.text_of(0).text


def test_attempted_tokens_are_those_behind_the_cached_prefix() -> None:
    messages = tool_messages(M, "ok")

    state = run([], messages, Conditions(SessionView(), cache_aware=True, cached_through=0))

    assert state.report.attempted == messages[1].content.tokens


def test_a_replaced_message_counts_as_attempted_wherever_it_stands() -> None:
    given = Conditions(SessionView(), cache_aware=True, cached_through=0)

    state = run([off_step()], tool_messages(M, "ok"), given)

    assert state.report.attempted == state.report.tokens_before
