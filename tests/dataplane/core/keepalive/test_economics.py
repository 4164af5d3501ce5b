"""What a ping costs and when it pays (03 section 7.3)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.resource import ModelPrice
from dataplane.core.keepalive.economics import break_even, projected_usd, rescue_usd
from dataplane.core.money import Rates, rates_of

RATES = rates_of(ModelPrice(input="3", cache_read="0.30", cache_write_5m="3.75", output="15"))
FLAT = rates_of(ModelPrice(input="3", cache_read="3", cache_write_5m="3", output="3"))
prefixes = st.integers(1, 2_000_000)
prices = st.integers(1, 10_000)


@st.composite
def cards(draw: st.DrawFn) -> Rates:
    """Rates of a model whose reads are cheaper than its writes."""
    read, more, fresh, output = (Fraction(draw(prices), 10**9) for _ in range(4))
    return Rates(
        fresh_input=fresh,
        cache_read=read,
        cache_write=read + more,
        cache_write_1h=read + 2 * more,
        output=output,
    )


@pytest.mark.parametrize(
    ("prefix", "percent"),
    [(500, "9.74"), (20_000, "8.72"), (100_000_000, "8.70")],
)
def test_the_longer_the_prefix_the_seldomer_a_ping_must_pay(prefix: int, percent: str) -> None:
    chance = break_even(prefix, RATES)

    assert chance is not None
    assert f"{float(chance) * 100:.2f}" == percent


def test_one_rescue_pays_eleven_and_a_half_reads() -> None:
    read_alone = projected_usd(20_000, RATES) - RATES.output

    assert rescue_usd(20_000, RATES) / read_alone == Fraction(23, 2)
    assert projected_usd(30_000, RATES) == Fraction("0.009015")


def test_where_a_write_costs_no_more_than_a_read_nothing_can_be_rescued() -> None:
    assert break_even(20_000, FLAT) is None


@given(prefix=prefixes, rates=cards())
def test_at_break_even_the_rescues_pay_exactly_for_the_pings(prefix: int, rates: Rates) -> None:
    chance = break_even(prefix, rates)

    assert chance is not None
    spent = projected_usd(prefix, rates) + rates.fresh_input
    assert chance * rescue_usd(prefix, rates) == spent


@given(prefix=prefixes, more=prefixes, rates=cards())
def test_a_longer_prefix_costs_more_and_breaks_even_sooner(
    prefix: int, more: int, rates: Rates
) -> None:
    short, long = break_even(prefix, rates), break_even(prefix + more, rates)

    assert projected_usd(prefix + more, rates) > projected_usd(prefix, rates)
    assert short is not None
    assert long is not None
    assert long < short
