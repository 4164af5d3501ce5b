"""Exact prices (02 §8.1 and 8.10, 08 §A-01, A-02 and A-06)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.prices.money import PriceCard, PriceError, Sale, cost, rates_of, saving
from dataplane.core.resource import ModelPrice


@dataclass(frozen=True)
class Billed:
    fresh_input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0


# As 02 §8.1 has it.
SONNET = ModelPrice(
    input="2", cache_read="0.20", cache_write_5m="2.50", cache_write_1h="4", output="10"
)
RATES = rates_of(SONNET)


def price(read: str, write: str, long: str | None = None) -> ModelPrice:
    return ModelPrice(
        input="1", cache_read=read, cache_write_5m=write, cache_write_1h=long, output="5"
    )


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(
            Billed(fresh_input=3, cache_write=12_304, output=550), "0.036266", id="08-case-A-01"
        ),
        pytest.param(
            Billed(fresh_input=25, cache_read=2455, output=23), "0.000771", id="08-case-A-02"
        ),
        pytest.param(
            Billed(cache_write=1000, cache_write_1h=400), "0.0031", id="600 at 2.5 and 400 at 4"
        ),
        pytest.param(Billed(), "0", id="nothing billed"),
    ],
)
def test_a_request_costs_its_tiers_times_their_rates(usage: Billed, usd: str) -> None:
    assert cost(usage, RATES) == Decimal(usd)


def test_the_list_of_the_release_has_the_prices_that_the_golden_numbers_rest_on() -> None:
    assert PriceCard({}).rates("claude-sonnet-5", Sale()) == RATES


def test_an_unknown_usage_or_price_costs_an_unknown_amount_not_nothing() -> None:
    """08-case-A-06"""
    card = PriceCard({})

    assert cost(Billed(fresh_input=3), card.rates("claude-unlisted-77", Sale())) is None
    assert cost(None, card.rates("claude-sonnet-5", Sale())) is None


@pytest.mark.parametrize(
    ("read", "write", "premium"),
    [
        pytest.param("0.1", "1.25", Fraction("11.5"), id="write 1.25x, read 0.1x"),
        pytest.param("0.1", "2.0", Fraction(19), id="1-hour writes"),
        pytest.param("0.1", "1", Fraction(9), id="no write premium"),
        pytest.param("0.25", "1", Fraction(3), id="read 0.25x"),
        pytest.param("0.5", "1", Fraction(1), id="read 0.5x"),
        pytest.param("0", "1.25", None, id="no read price to measure in"),
    ],
)
def test_the_rewrite_premium_is_exact(read: str, write: str, premium: Fraction | None) -> None:
    """02 §8.1: in floats (1.25 - 0.1) / 0.1 is not 11.5."""
    assert rates_of(price(read, write)).rewrite_premium == premium


def test_the_rewrite_premium_of_an_hour_has_its_own_write_price() -> None:
    assert (RATES.rewrite_premium, RATES.rewrite_premium_1h) == (Fraction("11.5"), Fraction(19))


def test_a_card_without_a_1_hour_write_price_charges_twice_the_input() -> None:
    assert rates_of(price("0.1", "1.25")).cache_write_1h == Fraction(2, 1_000_000)
    assert rates_of(price("0.1", "1.25", "1.5")).cache_write_1h == Fraction("1.5") / 1_000_000


@pytest.mark.parametrize(
    ("tokens_saved", "tier", "usd"),
    [
        pytest.param(820_000, "cache_write", "2.05", id="02-8.10-cold-return"),
        pytest.param(820_000, "cache_read", "0.164", id="02-8.10-warm-turn"),
        pytest.param(6_000, "cache_write", "0.015", id="02-8.10-old-threshold"),
    ],
)
def test_a_removal_is_worth_its_tokens_at_the_tier_they_leave(
    tokens_saved: int, tier: str, usd: str
) -> None:
    assert tokens_saved * getattr(RATES, tier) == Fraction(usd)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Billed(cache_read=9), "0.0037", id="read: 1000 at 2.5, 6000 at 0.2"),
        pytest.param(Billed(cache_write=9), "0.0175", id="expired: 7000 at 2.5"),
        pytest.param(Billed(cache_write=9, cache_write_1h=9), "0.028", id="for an hour: 7000 at 4"),
        pytest.param(Billed(fresh_input=9), "0.014", id="no cache: 7000 at 2"),
    ],
)
def test_a_saving_is_what_the_same_tokens_would_have_been_billed(usage: Billed, usd: str) -> None:
    assert saving(gross=7000, unique=1000, usage=usage, rates=RATES) == Decimal(usd)


def test_no_more_is_saved_for_the_first_time_than_is_saved() -> None:
    found = saving(gross=10, unique=1000, usage=Billed(cache_read=1), rates=RATES)

    assert found == 10 * Decimal("2.5") / 1_000_000


def test_a_saving_without_a_usage_or_a_price_is_unknown() -> None:
    assert saving(gross=7, unique=1, usage=None, rates=RATES) is None
    assert saving(gross=7, unique=1, usage=Billed(), rates=None) is None


def test_a_summary_call_is_repaid_by_exactly_80_000_tokens_that_are_not_written() -> None:
    """02-8.10 and 01-vector-58: a boundary on which a float comparison may go either way."""
    call = 900_000 * RATES.cache_read + 2_000 * RATES.output

    assert call == Fraction("0.2")
    assert 80_000 * RATES.cache_write >= call
    assert not 79_999 * RATES.cache_write >= call


@pytest.mark.parametrize(
    "text",
    ["", "free", "NaN", "Infinity", "-1", "1,5", "1e6", "1e999999", "1e-13", "0." + "1" * 30],
)
def test_a_price_that_could_not_be_counted_with_exactly_refuses_the_whole_card(text: str) -> None:
    with pytest.raises(PriceError):
        PriceCard({"known": SONNET, "wrong": price("0.1", text)})


CARD = PriceCard(
    {
        "claude-sonnet-5": SONNET,
        "claude-*": price("0.1", "1.25"),
        "claude-sonnet-*": price("0.2", "1.25"),
        "Claude-Sonnet-5-20260101": price("0.3", "1.25"),
        "gpt-5.6": price("0.5", "1"),
    }
)


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        pytest.param("claude-sonnet-5", "claude-sonnet-5", id="exact"),
        pytest.param("CLAUDE-Sonnet-5", "claude-sonnet-5", id="whatever the case"),
        pytest.param("claude-sonnet-5-20260101", "Claude-Sonnet-5-20260101", id="a dated entry"),
        pytest.param("claude-sonnet-5-20260929", "claude-sonnet-5", id="a dated model"),
        pytest.param("claude-sonnet-5@20260929", "claude-sonnet-5", id="dated the other way"),
        pytest.param("gpt-5.6-2026-09-29", "gpt-5.6", id="dated with dashes"),
        pytest.param("claude-sonnet-9", "claude-sonnet-*", id="the longest prefix"),
        pytest.param("claude-haiku-9", "claude-*", id="a shorter prefix"),
        pytest.param("gpt-5.6-mini", None, id="an exact name is no prefix"),
        pytest.param("my-claude-sonnet-5", None, id="a prefix begins at the start"),
        pytest.param("", None, id="no model"),
    ],
)
def test_a_model_is_priced_by(model: str, entry: str | None) -> None:
    found = CARD.find(model)

    assert (found.entry if found else None) == entry


def test_the_entry_comes_with_its_price_and_rates() -> None:
    found = CARD.find("claude-sonnet-5")

    assert found is not None
    assert (found.price, found.rates) == (SONNET, RATES)
    assert CARD.rates("claude-sonnet-5", Sale()) == RATES


TOKENS = st.integers(0, 10**9)


@given(st.tuples(TOKENS, TOKENS, TOKENS, TOKENS), st.tuples(TOKENS, TOKENS, TOKENS, TOKENS))
def test_the_cost_of_two_rounds_is_the_sum_of_their_costs(
    one: tuple[int, int, int, int], two: tuple[int, int, int, int]
) -> None:
    def billed(fresh: int, read: int, write: int, out: int) -> Billed:
        return Billed(fresh, read, write, write // 2, out)

    both = billed(*one), billed(*two)
    together = Billed(
        *(
            getattr(both[0], tier) + getattr(both[1], tier)
            for tier in ("fresh_input", "cache_read", "cache_write", "cache_write_1h", "output")
        )
    )

    costs = [cost(usage, RATES) for usage in (*both, together)]
    assert costs[0] is not None
    assert costs[1] is not None
    assert costs[0] + costs[1] == costs[2]


@given(
    units=st.integers(0, 10**18 - 1),
    tokens=st.integers(0, 2_000_000),
)
def test_the_cost_of_any_tokens_at_any_price_of_a_card_is_exact(units: int, tokens: int) -> None:
    written = f"{units // 10**12}.{units % 10**12:012}"
    rates = rates_of(ModelPrice(input=written, cache_read="0", cache_write_5m="0", output="0"))

    usd = cost(Billed(fresh_input=tokens), rates)

    assert usd is not None
    assert Fraction(usd) == Fraction(units, 10**18) * tokens
