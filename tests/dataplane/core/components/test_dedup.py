"""dedup: identical tool outputs (01 §2.5, vector 12)."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from dataplane.core.components.dedup import (
    COMPONENT,
    NO_EARLIER_IDENTICAL_OUTPUT,
    Config,
    decide,
)
from dataplane.core.port.gates import BELOW_MIN_TOKENS, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.turn import Decline, Offload, Turn
from dataplane.core.text.content import Content
from tests.dataplane.core.components.builders import (
    M_MARKER,
    PLAIN,
    M,
    composed,
    output,
    outputs,
)

FIRST = Decline(NO_EARLIER_IDENTICAL_OUTPUT, 0)


def test_a_later_copy_becomes_a_marker_without_a_hint() -> None:
    """01-vector-12"""
    *declined, step = decide(outputs(M, "x", M), Config(), PLAIN)

    assert declined == [FIRST, Decline(BELOW_MIN_TOKENS, 1)]
    assert composed(step, M) == f"[identical to an earlier tool output] {M_MARKER}"
    assert Content(composed(step, M)).tokens == 23


def test_every_further_copy_becomes_a_marker() -> None:
    steps = list(decide(outputs(M, M, M), Config(), PLAIN))

    assert [type(step) for step in steps] == [Decline, Offload, Offload]


def test_texts_that_differ_in_white_space_only_are_not_identical() -> None:
    steps = list(decide(outputs(M, M + "\n"), Config(), PLAIN))

    assert steps == [FIRST, Decline(NO_EARLIER_IDENTICAL_OUTPUT, 1)]


def test_identity_is_that_of_the_text_as_the_agent_sent_it() -> None:
    spaced, dense = (output("{ " + M, 0), output("{" + M, 1))
    reformatted = dataclasses.replace(spaced, content=dense.content)

    steps = list(decide((reformatted, dense), Config(), PLAIN))

    assert steps == [FIRST, Decline(NO_EARLIER_IDENTICAL_OUTPUT, 1)]


def test_a_copy_inside_the_cached_prefix_is_replaced_again_to_the_same_bytes() -> None:
    turn = Turn(cache_aware=True, cached_through=1)

    assert list(decide(outputs(M, M), Config(), turn)) == list(
        decide(outputs(M, M), Config(), PLAIN)
    )
    assert not COMPONENT.freezes


def test_an_output_with_an_image_in_it_is_neither_replaced_nor_remembered() -> None:
    steps = list(decide((output(M, 0, rewritable=False), output(M, 1)), Config(), PLAIN))

    assert steps == [Decline(NON_TEXT_BLOCKS, 0), Decline(NO_EARLIER_IDENTICAL_OUTPUT, 1)]


def test_an_output_that_carries_a_marker_stays_and_still_counts_as_the_first_copy() -> None:
    steps = list(decide((output(M, 0, marked=True), output(M, 1)), Config(), PLAIN))

    assert steps[0] == Decline(MARKER_OR_KEPT_VERBATIM, 0)
    assert composed(steps[1], M) == f"[identical to an earlier tool output] {M_MARKER}"


def test_copies_of_an_expanded_output_stay_verbatim() -> None:
    turn = Turn(kept=frozenset({Content(M).content_key}))

    steps = list(decide(outputs(M, M), Config(), turn))

    assert steps == [Decline(MARKER_OR_KEPT_VERBATIM, 0), Decline(MARKER_OR_KEPT_VERBATIM, 1)]


def test_an_empty_output_counts_as_below_min_tokens() -> None:
    assert list(decide(outputs(""), Config(min_tokens=1), PLAIN)) == [Decline(BELOW_MIN_TOKENS, 0)]


@pytest.mark.parametrize("block", [{"min_tokens": 0}, {"marker_mode": ""}, {"cold_cache": True}])
def test_a_wrong_block_is_refused(block: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(block, Config)
