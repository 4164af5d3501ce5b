"""Cards and their entries, ready to show and to edit (04 §5.14)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from controlplane.prices.entries import Entry, models_of, text_of
from controlplane.prices.models import Price, PriceCard
from dataplane.core.prices import money


@dataclass(frozen=True, slots=True)
class Found:
    """Which entry prices a model and how it was found; "" and "missing" when none does.

    how: "entry" for the whole name, "without its date", "longest match", "listed" for one that the
    card does not have and the list delivered with the release has, "missing".
    """

    match: str
    how: str


def card_in_force() -> PriceCard | None:
    """The newest version; None before the first, while the list of the release prices all."""
    return PriceCard.objects.first()


def cards() -> Sequence[PriceCard]:
    return list(PriceCard.objects.all())


def entries_of(card: PriceCard) -> list[Entry]:
    return [_entry(price) for price in card.prices.all()]


def entries_in_force() -> list[Entry]:
    card = card_in_force()
    return entries_of(card) if card else []


def find(model: str) -> Found:
    """Try a model's name on the card in force."""
    card = money.PriceCard(models_of(entries_in_force()))
    priced = card.find(model)
    if priced is None:
        listed = card.priced(model, money.Sale(at=time.time()))
        return Found(listed.entry, "listed") if listed else Found("", "missing")
    if priced.entry.endswith("*"):
        return Found(priced.entry, "longest match")
    is_whole = priced.entry.lower() == model.lower()
    return Found(priced.entry, "entry" if is_whole else "without its date")


def still_unpriced(models: Iterable[str]) -> set[str]:
    """Those of these models that neither the card in force nor the list has a price for."""
    card, sale = money.PriceCard(models_of(entries_in_force())), money.Sale(at=time.time())
    return {model for model in models if card.priced(model, sale) is None}


def _entry(price: Price) -> Entry:
    return Entry(
        match=price.match,
        input=text_of(price.input),
        output=text_of(price.output),
        cache_read=_text(price.cache_read),
        cache_write=_text(price.cache_write),
        cache_write_1h=_text(price.cache_write_1h),
        window=price.window,
        cache_minimum=price.cache_minimum,
        note=price.note,
        estimate=price.estimate,
    )


def _text(price: Decimal | None) -> str:
    return "" if price is None else text_of(price)
