"""mask: the gate table of the operator's description, word for word in meaning; 01 vectors 1-11."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.components.mask import COMPONENT, WITHIN_KEEP_RECENT, Config, decide, peek
from dataplane.core.port.gates import (
    BELOW_MIN_TOKENS,
    CACHED_PREFIX,
    MARKER_OR_KEPT_VERBATIM,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.turn import Decline, Replay, Turn
from dataplane.core.text.content import Content
from dataplane.core.text.marker import carries_placeholder
from tests.dataplane.core.components.builders import (
    HINT,
    M_MARKER,
    PLAIN,
    M,
    composed,
    only,
    output,
    outputs,
)

FOUR = outputs(M, "ok", "ok", "ok")
PEEK_96 = (
    "row 001 value 1 row 002 value 4 row 003 value 9 row 004 value 16 row 005 value 25 "
    "row 006 value …"
)
DEFAULT_MASKED = f"[older tool output masked; starts: {PEEK_96}] {M_MARKER}{HINT}"
CACHED = Turn(cache_aware=True, cached_through=0)
COLD = Turn(cache_aware=True, cached_through=0, cache_is_cold=True)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(Config(), DEFAULT_MASKED, id="01-vector-1"),
        pytest.param(
            Config(keep_head_chars=0),
            f"[older tool output masked] {M_MARKER}{HINT}",
            id="01-vector-2",
        ),
        pytest.param(
            Config(keep_head_chars=16),
            f"[older tool output masked; starts: row 001 value 1 …] {M_MARKER}{HINT}",
            id="01-vector-3",
        ),
        pytest.param(
            Config(keep_head_chars=0, marker_mode="summary"),
            "[older tool output masked] ⟪cg⟫",
            id="01-vector-4",
        ),
        pytest.param(
            Config(keep_head_chars=0, marker_mode="off"),
            "[older tool output masked] ",
            id="01-vector-5",
        ),
    ],
)
def test_an_output_older_than_the_newest_three_becomes_a_marker(
    config: Config, expected: str
) -> None:
    step = only(decide(FOUR, config, PLAIN))

    assert composed(step, M, config.marker_mode) == expected


@pytest.mark.parametrize(
    ("chars", "tokens"),
    [pytest.param(96, 68, id="01-vector-1"), pytest.param(0, 30, id="01-vector-2")],
)
def test_a_masked_output_costs_the_tokens_the_specification_states(chars: int, tokens: int) -> None:
    step = only(decide(FOUR, Config(keep_head_chars=chars), PLAIN))

    assert Content(composed(step, M)).tokens == tokens


def test_a_request_with_nothing_older_than_keep_recent_is_declined_once_as_a_whole() -> None:
    """01-vector-6"""
    assert list(decide(outputs(M, M, M), Config(), PLAIN)) == [Decline(WITHIN_KEEP_RECENT)]


def test_a_request_without_tool_outputs_is_declined_even_when_none_is_kept() -> None:
    assert list(decide((), Config(keep_recent=0), PLAIN)) == [Decline(WITHIN_KEEP_RECENT)]


def test_keep_recent_zero_masks_every_output() -> None:
    steps = list(decide(outputs(M, M), Config(keep_recent=0), PLAIN))

    assert [composed(step, M) for step in steps] == [DEFAULT_MASKED, DEFAULT_MASKED]


def test_a_marker_larger_than_the_output_is_left_for_the_pipeline_to_refuse() -> None:
    """01-vector-7: 11 tokens against 43; the pipeline declines by marker_no_win."""
    small = "ok: 3 files changed, 10 insertions"

    step = only(decide(outputs(small, "ok", "ok", "ok"), Config(min_tokens=1), PLAIN))

    assert (Content(small).tokens, Content(composed(step, small)).tokens) == (11, 43)


def test_an_output_inside_the_cached_prefix_is_declined() -> None:
    """01-vector-8"""
    assert list(decide(FOUR, Config(), CACHED)) == [Decline(CACHED_PREFIX, 0)]


@pytest.mark.parametrize(
    ("config", "turn"),
    [
        pytest.param(Config(cold_cache=True), COLD, id="01-vector-9"),
        pytest.param(Config(), Turn(cache_aware=False, cached_through=0), id="not cache-aware"),
        pytest.param(Config(), Turn(cache_aware=True, cached_through=-1), id="nothing is cached"),
        pytest.param(
            Config(),
            dataclasses.replace(CACHED, lost=frozenset({FOUR[0].decision_key})),
            id="the store dropped the decision, so it is made again",
        ),
    ],
)
def test_the_cached_prefix_does_not_keep_an_output_when(config: Config, turn: Turn) -> None:
    assert composed(only(decide(FOUR, config, turn)), M) == DEFAULT_MASKED


@pytest.mark.parametrize(
    ("config", "turn"),
    [
        pytest.param(Config(), COLD, id="cold, and cold_cache is off"),
        pytest.param(Config(cold_cache=True), CACHED, id="cold_cache is on, and the cache warm"),
    ],
)
def test_the_cached_prefix_keeps_an_output_when(config: Config, turn: Turn) -> None:
    assert list(decide(FOUR, config, turn)) == [Decline(CACHED_PREFIX, 0)]


def test_an_earlier_decision_is_replayed_below_the_boundary() -> None:
    """01-vector-10"""
    key = FOUR[0].decision_key
    turn = Turn(cache_aware=True, cached_through=6, frozen={key: DEFAULT_MASKED})

    steps = list(decide(outputs(M, "ok", "ok", "ok", "ok"), Config(), turn))

    assert steps == [Replay(0), Decline(BELOW_MIN_TOKENS, 1)]


def test_a_replay_ignores_the_size_floor() -> None:
    turn = Turn(frozen={FOUR[0].decision_key: DEFAULT_MASKED})

    assert list(decide(FOUR, Config(min_tokens=5000), turn)) == [Replay(0)]


def test_a_decision_about_one_copy_is_not_replayed_on_another() -> None:
    second = outputs(M, M, "ok", "ok", "ok")
    turn = Turn(cache_aware=True, cached_through=4, frozen={second[1].decision_key: DEFAULT_MASKED})

    steps = list(decide(second, Config(), turn))

    assert steps == [Decline(CACHED_PREFIX, 0), Replay(1)]


def test_an_output_that_the_agent_expanded_stays_verbatim() -> None:
    """01-vector-11"""
    turn = Turn(kept=frozenset({"9f6a1e84e285d24d978dc284"}))

    assert list(decide(FOUR, Config(), turn)) == [Decline(MARKER_OR_KEPT_VERBATIM, 0)]


def test_an_expanded_output_is_not_replayed_either() -> None:
    turn = Turn(kept=frozenset({Content(M).content_key}), frozen={FOUR[0].decision_key: "short"})

    assert list(decide(FOUR, Config(), turn)) == [Decline(MARKER_OR_KEPT_VERBATIM, 0)]


def test_an_output_that_carries_a_marker_is_declined_before_its_size_is_looked_at() -> None:
    marked = output("[gone] <<cg:0123456789abcdef>>", marked=True)

    steps = list(decide((marked, *outputs("ok", "ok", "ok")), Config(), PLAIN))

    assert steps == [Decline(MARKER_OR_KEPT_VERBATIM, 0)]


def test_an_output_with_an_image_in_it_is_declined_and_still_counts_as_recent() -> None:
    picture = output(M, 1, rewritable=False)

    assert list(decide((output(M), picture), Config(keep_recent=0), PLAIN))[1] == Decline(
        NON_TEXT_BLOCKS, 1
    )
    assert only(decide((picture, output("ok", 2)), Config(keep_recent=1), PLAIN)) == Decline(
        NON_TEXT_BLOCKS, 1
    )


def test_an_output_below_min_tokens_is_declined() -> None:
    exactly = Content(M).tokens

    assert not isinstance(only(decide(FOUR, Config(min_tokens=exactly), PLAIN)), Decline)
    assert only(decide(FOUR, Config(min_tokens=exactly + 1), PLAIN)) == Decline(BELOW_MIN_TOKENS, 0)


def test_an_empty_output_is_passed_over_in_silence() -> None:
    assert list(decide(outputs("", "a", "b", "c"), Config(), PLAIN)) == []


def test_the_peek_shows_the_text_as_it_is_now_and_the_decision_the_text_as_it_was_sent() -> None:
    reformatted = dataclasses.replace(FOUR[0], content=Content(M.upper()))

    step = only(decide((reformatted, *FOUR[1:]), Config(keep_head_chars=7), PLAIN))

    assert composed(step, M) == f"[older tool output masked; starts: ROW 001…] {M_MARKER}{HINT}"
    assert reformatted.decision_key == FOUR[0].decision_key


@pytest.mark.parametrize(
    ("text", "chars", "expected"),
    [
        pytest.param("a\r\n\t  b\u2028c", 9, "a b c", id="one line"),
        pytest.param("abcdef", 6, "abcdef", id="exactly as long"),
        pytest.param("abcdefg", 6, "abcdef…", id="one character longer"),
        pytest.param("🟢" * 10, 4, "🟢🟢🟢🟢", id="the window ends on a character"),
        pytest.param("a" + "🟢" * 10, 1, "a", id="the window cuts a character in two"),
        pytest.param(" " * 400 + "x", 96, "", id="nothing but white space in the window"),
        pytest.param("abc", 0, "", id="no peek wanted"),
        pytest.param("see <<cg:abc>> there", 40, "see << cg:abc>> there", id="a marker"),
        pytest.param("see ⟪cg⟫ there", 40, "see there", id="the sentinel"),
        pytest.param("x" * 90 + "<<cg:abc>>", 96, "x" * 90 + "<< cg:…", id="a cut marker"),
    ],
)
def test_a_peek_of(text: str, chars: int, expected: str) -> None:
    """08 §P-20 and 01 §2.11."""
    assert peek(text, chars) == expected


@given(
    text=st.text(st.sampled_from("<>cg:⟪⟫a🧑‍🔧 \n\u2028"), max_size=80),
    chars=st.integers(0, 40),
)
def test_a_peek_is_one_short_line_without_a_placeholder(text: str, chars: int) -> None:
    head = peek(text, chars)

    assert len(head) <= chars + 1
    assert len(head.splitlines()) <= 1
    assert not carries_placeholder(head)


def test_the_defaults_are_the_operators() -> None:
    assert Config() == Config(
        keep_recent=3, min_tokens=100, keep_head_chars=96, marker_mode="full", cold_cache=False
    )


@pytest.mark.parametrize(
    "block",
    [
        {"keep_recent": -1},
        {"min_tokens": 0},
        {"keep_head_chars": -1},
        {"marker_mode": "loud"},
        {"cold_cache": 1},
        {"enabled": True},
    ],
)
def test_a_wrong_block_is_refused(block: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(block, Config)


def test_decisions_are_remembered_and_may_be_made_again_when_lost() -> None:
    assert (COMPONENT.freezes, COMPONENT.repairable) == (True, True)
