"""What a ping costs and when it pays (03 §7.3)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.keepalive.economics import break_even, projected_usd, rescue_usd
from dataplane.core.prices.money import Rates, rates_of
from dataplane.core.resource import ModelPrice
from dataplane.core.wire.usage import Usage

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
    chance = break_even(Usage(1, prefix), RATES)

    assert chance is not None
    assert f"{float(chance) * 100:.2f}" == percent


def test_one_rescue_pays_eleven_and_a_half_reads() -> None:
    read_alone = projected_usd(Usage(0, 20_000), RATES) - RATES.output

    assert rescue_usd(20_000, RATES) / read_alone == Fraction(23, 2)
    assert projected_usd(Usage(0, 29_000, 1_000), RATES) == Fraction("0.009015")


def test_what_is_not_cached_is_paid_again_by_every_ping() -> None:
    assert projected_usd(Usage(10_000, 30_000), RATES) == Fraction("0.039015")


def test_where_a_write_costs_no_more_than_a_read_nothing_can_be_rescued() -> None:
    assert break_even(Usage(0, 20_000), FLAT) is None


@given(fresh=st.integers(0, 50_000), prefix=prefixes, rates=cards())
def test_at_break_even_the_rescues_pay_exactly_for_the_pings(
    fresh: int, prefix: int, rates: Rates
) -> None:
    usage = Usage(fresh, prefix)
    chance = break_even(usage, rates)

    assert chance is not None
    assert chance * rescue_usd(prefix, rates) == projected_usd(usage, rates)


@given(prefix=prefixes, more=prefixes, rates=cards())
def test_a_longer_prefix_costs_more_and_breaks_even_sooner(
    prefix: int, more: int, rates: Rates
) -> None:
    few, many = Usage(1, prefix), Usage(1, prefix, more)
    short, long = break_even(few, rates), break_even(many, rates)

    assert projected_usd(many, rates) > projected_usd(few, rates)
    assert short is not None
    assert long is not None
    assert long < short
