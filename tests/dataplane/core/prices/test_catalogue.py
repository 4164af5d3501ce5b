"""The prices and windows that come with the release (00-start-here.md 2 (row 30))."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import resources

import pytest

from dataplane.core.prices import catalogue
from dataplane.core.prices.catalogue import Clause, Line, Listed, Model
from dataplane.core.prices.money import PriceCard, Sale, cost, rates_of
from dataplane.core.resource import ModelPrice
from dataplane.core.wire.usage import Usage

AT = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
TEXT = resources.files("dataplane.core.prices._prices").joinpath("genai-prices.json").read_bytes()
OWN = ModelPrice(input="7", cache_read="1", cache_write_5m="8", output="9")


def listed(*prices: Line) -> Listed:
    return Listed(Model("m", Clause(equals="m"), 1000, list(prices)), "somebody", "test 1")


def price_of(sold: Listed, *, at: float = AT, prompt: int = 0) -> ModelPrice | None:
    line = sold.line(at=at, prompt=prompt)
    return None if line is None else sold.price(line)


def test_the_vendored_file_is_the_one_that_its_hash_names_and_its_licence_is_beside_it() -> None:
    head, _, body = TEXT.partition(b'"providers": ')
    about = json.loads(head.rstrip(b", ") + b"}")

    assert about["sha256"] == hashlib.sha256(body.rstrip()[:-1]).hexdigest()
    assert catalogue.source() == f"genai-prices {about['version']}"
    assert "MIT" in resources.files("dataplane.core.prices._prices").joinpath("LICENSE").read_text()


def test_every_listed_price_is_exact() -> None:
    for provider in json.loads(TEXT)["providers"]:
        for model in catalogue._models(provider["id"]):
            prices = [price_of(Listed(model, "", ""), prompt=size) for size in (0, 10**6)]
            assert all(price is None or rates_of(price) for price in prices)


def test_nobody_reads_the_file_before_a_price_is_asked_for() -> None:
    read = (
        "from dataplane.core.prices import catalogue, money\n"
        "print(catalogue._file.cache_info().currsize)"
    )
    ran = subprocess.run([sys.executable, "-c", read], capture_output=True, check=True)

    assert ran.stdout.strip() == b"0"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("claude-sonnet-5", "claude-sonnet-5", id="name"),
        pytest.param("Claude-Sonnet-5-20260929", "claude-sonnet-5", id="dated"),
        pytest.param("claude-sonnet-4-5@20250929", "claude-sonnet-4-5", id="as Vertex writes it"),
        pytest.param("gpt-5.6", "gpt-5.6-sol", id="of another maker"),
    ],
)
def test_a_model_is_found_with_its_maker_by_its_name(name: str, found: str) -> None:
    entry = catalogue.find(name)

    assert entry is not None
    assert entry.model.id == found
    assert entry.model.window > 0


@pytest.mark.parametrize("name", ["", "house-model", "claude-unheard-of-77"])
def test_a_model_that_nobody_lists_stays_unknown(name: str) -> None:
    assert catalogue.find(name) is None
    assert PriceCard({}).priced(name, Sale(at=AT)) is None
    assert PriceCard({}).window(name) == 0


def test_the_seller_of_the_address_is_paid_and_no_other() -> None:
    maker = catalogue.find("claude-sonnet-5", "http://127.0.0.1:9")
    seller = catalogue.find(
        "us.anthropic.claude-sonnet-5", "https://bedrock-runtime.us-east-1.amazonaws.com"
    )

    assert maker is not None
    assert seller is not None
    assert (maker.provider, seller.provider) == ("anthropic", "aws")
    assert catalogue.find("claude-sonnet-5", "https://api.deepseek.com") is None


@pytest.mark.parametrize(
    ("prompt", "expected"), [(0, "3"), (200_000, "3"), (200_001, "6"), (10**9, "6")]
)
def test_a_request_past_a_tiers_start_costs_that_tier_all_of_it(prompt: int, expected: str) -> None:
    tiered = listed(Line("3", "15", "0.3"), Line("6", "22.5", "0.6", above=200_000))

    price = price_of(tiered, prompt=prompt)

    assert price is not None
    assert price.input == expected


def test_a_price_holds_from_the_first_moment_of_its_utc_day() -> None:
    changing = listed(Line("3", "15"), Line("2", "10", since=date(2026, 12, 1)))

    prices = [price_of(changing, at=AT + seconds) for seconds in (-1, 0)]

    assert [price and price.input for price in prices] == ["3", "2"]
    assert price_of(listed(Line("2", "10", since=date(2026, 12, 1))), at=AT - 1) is None


def test_a_tier_without_a_price_is_billed_as_input() -> None:
    price = price_of(listed(Line("4", "8")))

    assert price is not None
    usage = Usage(fresh_input=1, cache_read=1, cache_write=2, cache_write_1h=1)
    assert cost(usage, rates_of(price)) == 4 * Decimal("0.000004")


def test_the_deployments_card_wins_line_by_line() -> None:
    card = PriceCard({"claude-sonnet-5": OWN}, 3)

    own, other = (card.priced(name, Sale(at=AT)) for name in ("claude-sonnet-5", "claude-opus-5"))

    assert own is not None
    assert other is not None
    assert (own.source, own.price) == ("price card 3", OWN)
    assert (other.source, other.price.input) == (catalogue.source(), "5")


def test_a_line_that_states_no_window_leaves_it_to_the_catalogue() -> None:
    silent, stating = OWN, ModelPrice("7", "1", "8", "9", window=123)

    windows = [
        PriceCard({"claude-sonnet-5": line}).window("claude-sonnet-5") for line in (silent, stating)
    ]

    assert windows == [1_000_000, 123]
