"""A price card as it is written, and what it means to a node (04 §1.7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from dataplane.core.prices.money import PriceCard, PriceError
from dataplane.core.resource import ModelPrice

CACHE_READ = Decimal("0.1")  # of the input price, where a card states none
CACHE_WRITE = Decimal("1.25")
CACHE_WRITE_1H = Decimal(2)
SMALLEST = Decimal("1e-9")
LARGEST = Decimal(10) ** 6
MATCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,118}\*?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a card, as text in USD per million tokens; "" for a tier that is derived.

    match: a model's name, or how it begins with "*" behind.
    """

    match: str
    input: str
    output: str
    cache_read: str = ""
    cache_write: str = ""
    cache_write_1h: str = ""
    window: int = 0
    cache_minimum: int = 1024
    note: str = ""
    estimate: bool = False


def models_of(entries: Sequence[Entry]) -> dict[str, ModelPrice]:
    """The card as nodes take it; PriceError for the first entry that is wrong: none is taken."""
    found: dict[str, ModelPrice] = {}
    for entry in entries:
        if not MATCH.fullmatch(entry.match):
            raise PriceError(f"{entry.match!r} is not the name of a model")
        if entry.match.lower() in {name.lower() for name in found}:
            raise PriceError(f"{entry.match!r} has two prices")
        found[entry.match] = price_of(entry)
    PriceCard(found)  # the node's own reading of it
    return found


def price_of(entry: Entry) -> ModelPrice:
    """Missing tiers follow from the input price."""
    fresh = amount(entry.input)
    return ModelPrice(
        input=text_of(fresh),
        cache_read=text_of(_tier(entry.cache_read, fresh * CACHE_READ)),
        cache_write_5m=text_of(_tier(entry.cache_write, fresh * CACHE_WRITE)),
        cache_write_1h=text_of(_tier(entry.cache_write_1h, fresh * CACHE_WRITE_1H)),
        output=text_of(amount(entry.output)),
        window=entry.window,
        cache_minimum=entry.cache_minimum,
    )


def amount(text: str) -> Decimal:
    """A price as a decimal; PriceError unless it is at least 0 with 9 decimal places at most."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        raise PriceError(f"{text!r} is not a decimal number") from None
    if not found.is_finite() or not 0 <= found < LARGEST:
        raise PriceError(f"{text!r} is not a price")
    if found % SMALLEST:
        raise PriceError(f"{text!r} has more than 9 decimal places")
    return found


def text_of(price: Decimal) -> str:
    """The shortest decimal spelling without an exponent: equal prices give equal bytes."""
    return f"{price.normalize():f}"


def _tier(text: str, derived: Decimal) -> Decimal:
    return amount(text) if text.strip() else derived
