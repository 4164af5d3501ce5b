"""Numbers on the page follow the design's table; states are words (04 §0.3)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.figures import numerals


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (7, "7"),
        (18_402, "18,402"),
        (999_999, "999,999"),
        (1_000_000, "1.00\u00a0M"),
        (17_400_000, "17.4\u00a0M"),
        (227_000_000, "227\u00a0M"),
        (999_499_999, "999\u00a0M"),
        (999_500_000, "1.00\u00a0G"),
        (1_440_000_000, "1.44\u00a0G"),
        (2_000_000_000_000_000, "2000\u00a0T"),
        (-4_310, "\u22124,310"),
    ],
)
def test_a_count_is_written_out_to_six_digits_and_then_with_three(value: int, shown: str) -> None:
    assert str(numerals.count(value)) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("611.28", "$611.28"),
        ("1901.125", "$1,901.12"),
        ("0.0372", "$0.0372"),
        ("0", "$0.00"),
        ("-4.10", "\u2212$4.10"),
        ("0.00001", "<\u00a0$0.0001"),
        ("-0.00001", "\u2212<\u00a0$0.0001"),
    ],
)
def test_money_has_two_decimals_from_a_dollar_and_four_below(amount: str, shown: str) -> None:
    assert str(numerals.usd(Decimal(amount))) == shown


def test_an_amount_nobody_could_price_is_the_word_unknown() -> None:
    assert numerals.usd(None) == numerals.UNKNOWN


def test_a_change_of_money_carries_its_sign() -> None:
    assert [str(numerals.change_usd(Decimal(text))) for text in ("79.27", "-4.1", "0")] == [
        "+$79.27",
        "\u2212$4.10",
        "$0.00",
    ]


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(3412, 18402, "18.5\u00a0%"), (7, 18402, "<\u00a00.1\u00a0%"), (0, 5, "0.0\u00a0%")],
)
def test_a_share_that_is_not_nothing_is_never_shown_as_nothing(
    part: int, whole: int, shown: str
) -> None:
    assert str(numerals.share(part, whole)) == shown


def test_a_ratio_over_nothing_is_no_data() -> None:
    assert [numerals.times(5, 0), numerals.share(0, 0), numerals.times(None, 3)] == [
        numerals.NO_DATA
    ] * 3


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (240, "4 min"),
        (15_000, "4 h 10 min"),
        (1_051_200, "12 d 4 h"),
        (86_400, "1 d"),
    ],
)
def test_a_span_names_its_two_largest_units(seconds: float, shown: str) -> None:
    assert numerals.span(seconds).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("value_ms", "shown"),
    [(0.02, "< 0.1 ms"), (0.42, "0.4 ms"), (11.2, "11 ms"), (1100, "1.1 s"), (None, "no data")],
)
def test_a_duration_takes_the_unit_it_is_read_in(value_ms: float | None, shown: str) -> None:
    assert str(numerals.duration(value_ms)).replace("\u00a0", " ") == shown


@given(part=st.integers(0, 10**9), whole=st.integers(1, 10**9))
def test_a_bar_never_leaves_its_track(part: int, whole: int) -> None:
    assert 0 <= float(numerals.per_hundred(part, whole)) <= 100
