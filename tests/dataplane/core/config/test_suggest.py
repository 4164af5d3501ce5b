"""Did-you-mean: 04 §2.4."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.suggest import damerau_levenshtein, nearest


@pytest.mark.parametrize(
    ("written", "known", "near"),
    [
        pytest.param("maks", ["mask"], ["mask"], id="four-letters-one-swap"),
        pytest.param("mxxk", ["mask"], [], id="four-letters-two-changes"),
        pytest.param("colapse", ["collapse"], ["collapse"], id="up-to-nine-two"),
        pytest.param("coxxpxe", ["collapse"], [], id="up-to-nine-not-three"),
        pytest.param("keep_recnt", ["keep_recent"], ["keep_recent"], id="above-nine"),
        pytest.param("keep_rxxxnt", ["keep_recent"], ["keep_recent"], id="above-nine-three"),
        pytest.param("Mask", ["mask"], ["mask"], id="case-is-no-edit"),
        pytest.param("modes", ["nodes", "mode"], ["mode", "nodes"], id="tie-by-shared-beginning"),
        pytest.param("abcde", ["abcdx", "abcdb"], ["abcdb", "abcdx"], id="tie-by-alphabet"),
        pytest.param(
            "aaaaa",
            ["aaaab", "aaaac", "aaaad", "aaaae"],
            ["aaaab", "aaaac", "aaaad"],
            id="at-most-three",
        ),
    ],
)
def test_the_nearest_names_come_first(written: str, known: list[str], near: list[str]) -> None:
    assert nearest(written, known) == near


words = st.text(alphabet="abc", max_size=8)


@given(words, words)
def test_the_distance_is_the_same_both_ways(left: str, right: str) -> None:
    assert damerau_levenshtein(left, right, 8) == damerau_levenshtein(right, left, 8)


@given(words, words, st.integers(0, 4))
def test_a_distance_beyond_the_reach_is_not_measured_further(
    left: str, right: str, reach: int
) -> None:
    exact = damerau_levenshtein(left, right, 8)

    assert damerau_levenshtein(left, right, reach) == min(exact, reach + 1)
