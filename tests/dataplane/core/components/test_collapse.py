"""collapse: head and tail windows (01 §2.12, vectors 13-16)."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.components.collapse import (
    BELOW_MAX_TOKENS,
    CHAR_WINDOW,
    COMPONENT,
    TOO_FEW_LINES_AND_CHARS,
    Config,
    char_window,
    decide,
    line_window,
    threshold_of,
)
from dataplane.core.port.gates import CACHED_PREFIX, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.turn import Decline, Offload, Replay, Turn
from dataplane.core.text.content import Content
from dataplane.core.text.marker import carries_placeholder
from tests.dataplane.core.components.builders import (
    HINT,
    PLAIN,
    M,
    composed,
    only,
    output,
    outputs,
)

LOG = "\n".join(f"log line {i:04d}: worker heartbeat ok" for i in range(1, 201))
JSON_LINE = '{"rows":[' + ",".join(f'{{"id":{i},"v":"x{i * 7}"}}' for i in range(1, 301)) + "]}"
TWO_AND_TWO = Config(max_tokens=100, head_lines=2, tail_lines=2)


def test_the_inputs_have_the_sizes_the_specification_states() -> None:
    assert (Content(LOG).tokens, len(JSON_LINE), Content(JSON_LINE).tokens) == (1999, 6645, 2863)


def test_many_short_lines_keep_their_first_and_last() -> None:
    """01-vector-13"""
    step = only(decide(outputs(LOG), TWO_AND_TWO, PLAIN))

    assert composed(step, LOG).split("\n") == [
        "log line 0001: worker heartbeat ok",
        "log line 0002: worker heartbeat ok",
        "... (196 lines omitted) <<cg:bfb13d8bd3ff0afe>>" + HINT,
        "log line 0199: worker heartbeat ok",
        "log line 0200: worker heartbeat ok",
    ]


@pytest.mark.parametrize(
    ("config", "head", "omitted", "tail", "tokens"),
    [
        pytest.param(TWO_AND_TWO, 100, 6445, 100, 122, id="01-vector-14"),
        pytest.param(
            Config(max_tokens=500, head_lines=3, tail_lines=1),
            765,
            5624,
            256,
            480,
            id="01-vector-15",
        ),
    ],
)
def test_one_long_line_keeps_its_first_and_last_characters(
    config: Config, head: int, omitted: int, tail: int, tokens: int
) -> None:
    step = only(decide(outputs(JSON_LINE), config, PLAIN))

    text = composed(step, JSON_LINE)
    assert text == (
        f"{JSON_LINE[:head]}\n... ({omitted} characters omitted) <<cg:dbe66fc90980a39f>>{HINT}\n"
        f"{JSON_LINE[-tail:]}"
    )
    assert Content(text).tokens == tokens
    assert isinstance(step, Offload)
    assert step.event == CHAR_WINDOW


def test_a_character_window_is_measured_without_its_marker() -> None:
    """01-vector-15: the window of 1021 characters measures 459."""
    window = char_window(JSON_LINE, 500, Config(head_lines=3, tail_lines=1))

    assert Content(window.text).tokens == 459


def test_a_character_window_is_shrunk_three_times_at_most() -> None:
    dense = "🟢" * 75
    text = dense + " " * 9000 + dense
    config = Config(head_lines=1, tail_lines=1)

    window = char_window(text, 400, config)

    assert Content(window.text).tokens > 400
    assert len(window.head) + len(window.tail) > 200


def test_an_output_of_exactly_the_threshold_is_declined() -> None:
    """01-vector-16 and its edge"""
    exactly = Content(M).tokens

    assert only(decide(outputs(M), Config(), PLAIN)) == Decline(BELOW_MAX_TOKENS, 0)
    assert only(decide(outputs(M), Config(max_tokens=exactly), PLAIN)) == Decline(
        BELOW_MAX_TOKENS, 0
    )
    assert only(decide(outputs(LOG), Config(max_tokens=exactly), PLAIN)) != Decline(
        BELOW_MAX_TOKENS, 0
    )


@pytest.mark.parametrize(
    ("config", "window", "threshold"),
    [
        pytest.param(Config(max_frac=0.1), 30, 3, id="exact where a float product is not"),
        pytest.param(Config(max_frac=0.01), 128_001, 1281, id="rounded up"),
        pytest.param(Config(max_frac=0.5, max_tokens=7), 0, 7, id="window unknown"),
        pytest.param(Config(max_tokens=7), 128_000, 7, id="no share wanted"),
    ],
)
def test_the_threshold_of(config: Config, window: int, threshold: int) -> None:
    assert threshold_of(config, window) == threshold


def test_lines_that_are_more_than_half_of_the_bytes_give_way_to_characters() -> None:
    wide = "ä" * 300 + "\n" + "b" * 300 + "\nc"  # head and tail line: more bytes, fewer characters
    config = Config(max_tokens=10, head_lines=1, tail_lines=1)

    assert line_window(wide, config) is None
    step = only(decide(outputs(wide), config, PLAIN))
    assert isinstance(step, Offload)
    assert step.event == CHAR_WINDOW


def test_a_line_window_of_exactly_half_of_the_bytes_is_taken() -> None:
    window = "a\n... (1 lines omitted) \nc"
    text = "a\n" + "b" * (2 * len(window) - 4) + "\nc"

    taken = line_window(text, Config(head_lines=1, tail_lines=1))
    refused = line_window(text.replace("bb", "b", 1), Config(head_lines=1, tail_lines=1))

    assert taken is not None
    assert (taken.text, refused) == (window, None)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(Config(head_lines=0, tail_lines=1), "... (3 lines omitted) \nz", id="tail"),
        pytest.param(Config(head_lines=1, tail_lines=0), "a\n... (3 lines omitted) ", id="head"),
    ],
)
def test_a_side_of_no_lines_leaves_no_empty_line(config: Config, expected: str) -> None:
    window = line_window("a\n" + "b" * 90 + "\nc\nz", config)

    assert window is not None
    assert window.text == expected


def test_no_lines_at_all_means_characters_half_from_either_side() -> None:
    window = char_window(LOG, 100, Config(head_lines=0, tail_lines=0))

    assert line_window(LOG, Config(head_lines=0, tail_lines=0)) is None
    assert len(window.head) == len(window.tail)


def test_two_hundred_characters_in_few_lines_are_declined_before_the_cached_prefix() -> None:
    turn = Turn(cache_aware=True, cached_through=0)

    step = only(decide(outputs("x" * 200), Config(max_tokens=1), turn))

    assert step == Decline(TOO_FEW_LINES_AND_CHARS, 0)


def test_an_output_inside_the_cached_prefix_is_declined() -> None:
    turn = Turn(cache_aware=True, cached_through=0)

    assert only(decide(outputs(LOG), TWO_AND_TWO, turn)) == Decline(CACHED_PREFIX, 0)


def test_a_certainly_expired_cache_is_collapsed_at_depth_when_the_operator_wants_it() -> None:
    turn = Turn(cache_aware=True, cached_through=0, cache_is_cold=True)
    wanted = Config(max_tokens=100, head_lines=2, tail_lines=2, cold_cache=True)

    assert only(decide(outputs(LOG), TWO_AND_TWO, turn)) == Decline(CACHED_PREFIX, 0)
    assert isinstance(only(decide(outputs(LOG), wanted, turn)), Offload)


def test_an_earlier_decision_is_replayed_before_any_size_is_looked_at() -> None:
    (logged,) = outputs(LOG)
    turn = Turn(cache_aware=True, cached_through=0, frozen={logged.decision_key: "short"})

    assert list(decide((logged,), Config(max_tokens=5000), turn)) == [Replay(0)]


def test_what_carries_a_marker_or_was_expanded_is_declined_after_the_size() -> None:
    turn = Turn(kept=frozenset({Content(LOG).content_key}))

    assert only(decide(outputs(LOG), TWO_AND_TWO, turn)) == Decline(MARKER_OR_KEPT_VERBATIM, 0)
    assert only(decide((output(LOG, marked=True),), TWO_AND_TWO, PLAIN)) == Decline(
        MARKER_OR_KEPT_VERBATIM, 0
    )
    assert only(decide((output("x", marked=True),), TWO_AND_TWO, PLAIN)) == Decline(
        BELOW_MAX_TOKENS, 0
    )


def test_an_output_with_an_image_in_it_is_declined() -> None:
    step = only(decide((output(LOG, rewritable=False),), TWO_AND_TWO, PLAIN))

    assert step == Decline(NON_TEXT_BLOCKS, 0)


def test_an_empty_output_is_passed_over_in_silence() -> None:
    assert list(decide(outputs(""), Config(max_tokens=0), PLAIN)) == []


def test_a_planted_marker_does_not_survive_in_the_kept_lines() -> None:
    planted = f"<<cg:0123456789abcdef>>\n{LOG}\n⟪cg⟫ <<cg:fedcba9876543210>>"

    step = only(decide(outputs(planted), TWO_AND_TWO, PLAIN))

    assert isinstance(step, Offload)
    assert not carries_placeholder(step.before + step.after)


@given(
    text=st.text(st.sampled_from("ab ä🟢\n"), min_size=201, max_size=600),
    threshold=st.integers(0, 80),
    head=st.integers(0, 4),
    tail=st.integers(0, 4),
)
def test_a_window_is_shorter_than_the_text_and_says_how_much_is_missing(
    text: str, threshold: int, head: int, tail: int
) -> None:
    config = Config(max_tokens=threshold, head_lines=head, tail_lines=tail)

    lines = line_window(text, config)
    chars = char_window(text, threshold, config)

    assert len(chars.head) + len(chars.tail) < len(text)
    assert text.startswith(chars.head)
    assert text.endswith(chars.tail)
    omitted = int(re.findall(r"\d+", chars.omitted)[0])
    assert omitted == len(text) - len(chars.head) - len(chars.tail)
    assert lines is None or 2 * len(lines.text.encode()) <= len(text.encode())


@pytest.mark.parametrize(
    "block",
    [
        {"max_tokens": -1},
        {"max_frac": 1.5},
        {"max_frac": -0.1},
        {"head_lines": -1},
        {"tail_lines": -1},
        {"marker_mode": None},
        {"min_tokens": 3},
    ],
)
def test_a_wrong_block_is_refused(block: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(block, Config)


def test_decisions_are_remembered_and_may_be_made_again_when_lost() -> None:
    assert (COMPONENT.freezes, COMPONENT.repairable) == (True, True)
