"""Price cards: versions, derived tiers, refusals, what nodes see (04 §1.7, 5.14)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from django.db import DatabaseError, transaction
from hypothesis import given
from hypothesis import strategies as st

from controlplane.accounts.models import User
from controlplane.audit.models import AuditEvent
from controlplane.fleet import queries as fleet
from controlplane.fleet.actions import publish_deployment
from controlplane.prices import queries
from controlplane.prices.actions import StaleCardError, ensure_card, save_card
from controlplane.prices.entries import Entry, amount, models_of, price_of, text_of
from controlplane.prices.models import Price, PriceCard
from dataplane.core import resource
from dataplane.core.prices.money import PriceError

HAIKU = Entry(match="claude-haiku-*", input="0.80", output="4")


def published() -> dict[str, resource.ModelPrice]:
    found = fleet.published(resource.PRICES, "default")
    assert found is not None
    return msgspec.json.decode(found.body, type=resource.PricesBody).models


def test_a_new_deployment_leaves_every_price_to_the_list(db: None) -> None:
    publish_deployment(by="test")
    before = published()
    card = ensure_card()

    assert (card.version, ensure_card()) == (1, card)
    assert queries.entries_in_force() == []
    assert before == published() == {}
    assert queries.find("claude-sonnet-5").how == "listed"


def test_a_deployment_that_began_with_a_line_of_its_own_keeps_it(db: None) -> None:
    """Earlier releases saved one for claude-sonnet-5 as the first version."""
    line = Entry(match="claude-sonnet-5", input="2", output="10", cache_read="0.2")
    card = save_card([line], "The card that a new deployment starts with", None)

    assert ensure_card() == card
    assert published().keys() == {"claude-sonnet-5"}
    assert queries.find("claude-sonnet-5").how == "entry"


def test_a_saved_card_is_in_force_and_the_earlier_one_is_kept(manager: User) -> None:
    ensure_card()
    card = save_card([HAIKU], "Haiku only", manager, based_on=1)

    assert queries.card_in_force() == card
    assert [one.version for one in queries.cards()] == [2, 1]
    assert queries.entries_of(card) == [replace(HAIKU, input="0.8")]
    assert published().keys() == {"claude-haiku-*"}
    event = AuditEvent.objects.filter(action="price.save").first()
    assert event is not None
    assert event.before is not None
    assert event.after is not None
    assert (event.before["version"], event.after["version"]) == (1, 2)
    assert event.actor_label == card.author_label == manager.email


def test_missing_tiers_follow_from_the_input_price() -> None:
    price = price_of(HAIKU)

    assert (price.cache_read, price.cache_write_5m, price.cache_write_1h) == ("0.08", "1", "1.6")


def test_a_stated_tier_wins_over_a_derived_one_also_when_it_is_free() -> None:
    assert price_of(replace(HAIKU, cache_read="0")).cache_read == "0"


@pytest.mark.parametrize(
    "wrong",
    ["", "free", "-1", "NaN", "Infinity", "1,5", "0.0000000001", "1e6", "0x10"],
)
@pytest.mark.parametrize("tier", ["input", "output"])
def test_a_wrong_number_refuses_the_whole_card(manager: User, tier: str, wrong: str) -> None:
    ensure_card()
    wrong_entry = replace(HAIKU, match="b", **{tier: wrong})  # type: ignore[arg-type]

    with pytest.raises(PriceError):
        save_card([HAIKU, wrong_entry], "x", manager)

    assert PriceCard.objects.count() == 1
    assert published() == {}


@pytest.mark.parametrize("match", ["", "*", "a b", "a*b", "a**", "x" * 121, "<b>"])
def test_what_is_not_the_name_of_a_model_is_refused(match: str) -> None:
    with pytest.raises(PriceError):
        models_of([replace(HAIKU, match=match)])


def test_two_prices_of_one_model_are_refused_whatever_their_case() -> None:
    with pytest.raises(PriceError):
        models_of([HAIKU, replace(HAIKU, match="Claude-Haiku-*")])


def test_a_card_is_based_on_the_one_in_force(manager: User) -> None:
    ensure_card()
    save_card([HAIKU], "one", manager, based_on=1)

    with pytest.raises(StaleCardError):
        save_card([], "two", manager, based_on=1)


@given(price=st.decimals(min_value=0, max_value=999_999, places=9, allow_nan=False))
def test_a_price_keeps_its_value_in_its_shortest_spelling(price: Decimal) -> None:
    text = text_of(amount(str(price)))

    assert Decimal(text) == price
    assert "E" not in text.upper()


def test_a_model_can_be_tried_on_the_card_in_force(manager: User) -> None:
    save_card([HAIKU, Entry(match="claude-sonnet-5", input="2", output="10")], "x", manager)

    assert [
        (queries.find(model).match, queries.find(model).how)
        for model in ("Claude-Sonnet-5", "claude-sonnet-5-20260101", "claude-haiku-9", "gpt")
    ] == [
        ("claude-sonnet-5", "entry"),
        ("claude-sonnet-5", "without its date"),
        ("claude-haiku-*", "longest match"),
        ("", "missing"),
    ]


@pytest.mark.parametrize(
    ("model", "field"), [(PriceCard, "message"), (Price, "note")], ids=["card", "price"]
)
def test_a_card_is_written_once(db: None, model: Any, field: str) -> None:
    save_card([HAIKU], "one", None)

    with pytest.raises(DatabaseError, match="written once"), transaction.atomic():
        model.objects.update(**{field: "changed"})
