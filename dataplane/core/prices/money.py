"""Exact prices: rates of a model, dollars of a usage, and what rewriting a cached token costs.

Nothing here is a float, and unknown is None, never 0.
Source: 02-sweep-and-ledger.md 8.1 and 8.10, 04-controlplane-and-dashboard.md 1.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import NamedTuple, Protocol

from dataplane.core.prices import catalogue
from dataplane.core.resource import ModelPrice

_TOKENS_PER_PRICE = 1_000_000
# Within these every product with a count of tokens has fewer digits than a decimal holds.
_LARGEST_USD = 10**6
_SMALLEST_USD = Decimal("1e-12")
LOOKUPS_MAX = 1024  # names of models that a card remembers to have looked up
_LONG_WRITE_FACTOR = 2  # of the input price, where a card states no 1-hour write
_DATED = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2})\Z")


class PriceError(ValueError):
    """A price that is no decimal number of at least 0, or one too large or too fine to be exact."""


class Usage(Protocol):
    """Billed tokens of one request. cache_write includes cache_write_1h."""

    @property
    def fresh_input(self) -> int: ...
    @property
    def cache_read(self) -> int: ...
    @property
    def cache_write(self) -> int: ...
    @property
    def cache_write_1h(self) -> int: ...
    @property
    def output(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """USD per token of one model, exact. cache_write is the 5-minute tier."""

    fresh_input: Fraction
    cache_read: Fraction
    cache_write: Fraction
    cache_write_1h: Fraction
    output: Fraction
    decimals: tuple[Decimal, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """decimals: the five rates, which they are exactly: a price over a power of ten."""
        tiers = (
            self.fresh_input,
            self.cache_read,
            self.cache_write,
            self.cache_write_1h,
            self.output,
        )
        exact = tuple(Decimal(tier.numerator) / Decimal(tier.denominator) for tier in tiers)
        object.__setattr__(self, "decimals", exact)

    @property
    def rewrite_premium(self) -> Fraction | None:
        """X: extra cache reads that writing one cached token again costs; None without a read
        price to measure it in.
        """
        return self._premium(self.cache_write)

    @property
    def rewrite_premium_1h(self) -> Fraction | None:
        """X where the prefix is kept for an hour."""
        return self._premium(self.cache_write_1h)

    def _premium(self, write: Fraction) -> Fraction | None:
        return (write - self.cache_read) / self.cache_read if self.cache_read else None


@functools.lru_cache(maxsize=1024)
def rates_of(price: ModelPrice) -> Rates:
    """The rates of one price card entry; PriceError when one of its prices is none."""
    fresh = _per_token(price.input)
    long = price.cache_write_1h
    return Rates(
        fresh_input=fresh,
        cache_read=_per_token(price.cache_read),
        cache_write=_per_token(price.cache_write_5m),
        cache_write_1h=fresh * _LONG_WRITE_FACTOR if long is None else _per_token(long),
        output=_per_token(price.output),
    )


def _per_token(usd_per_million: str) -> Fraction:
    try:
        price = Decimal(usd_per_million)
    except InvalidOperation:
        raise PriceError(f"{usd_per_million!r} is not a decimal number") from None
    if not price.is_finite() or not 0 <= price < _LARGEST_USD:
        raise PriceError(f"{usd_per_million!r} is not a price")
    if price % _SMALLEST_USD:
        raise PriceError(f"{usd_per_million!r} has more than 12 decimal places")
    return Fraction(price) / _TOKENS_PER_PRICE


def cost(usage: Usage | None, rates: Rates | None) -> Decimal | None:
    """USD of one request; None when its usage or its model's price is unknown."""
    if usage is None or rates is None:
        return None
    fresh, read, write, write_1h, output = rates.decimals
    return (
        usage.fresh_input * fresh
        + usage.cache_read * read
        + (usage.cache_write - usage.cache_write_1h) * write
        + usage.cache_write_1h * write_1h
        + usage.output * output
    )


def saving(*, gross: int, unique: int, usage: Usage | None, rates: Rates | None) -> Decimal | None:
    """USD that one component spared one request; None when its usage or price is unknown.

    gross: tokens that it took out; unique: the part that nothing was credited for before. That
    part would have been written into the provider's cache; the rest would have been read from it,
    or written once more where it had expired. Without a cache all of it is fresh input.
    Source: 04-controlplane-and-dashboard.md 5.1.
    """
    if usage is None or rates is None:
        return None
    fresh, read, short, long, _ = rates.decimals
    write = long if usage.cache_write_1h else short
    if not usage.cache_read and not usage.cache_write:
        return gross * fresh
    first = min(unique, gross)
    return first * write + (gross - first) * (read if usage.cache_read else write)


@dataclass(frozen=True, slots=True)
class Priced:
    """A model's price, its rates, and the name of the entry that matched.

    source: whose price it is, with its version, as records name it.
    """

    entry: str
    price: ModelPrice
    rates: Rates
    source: str


class Sale(NamedTuple):
    """What a listed price depends on beside the model. address: of the upstream. at: seconds.

    prompt: input tokens of the request, of the largest of its rounds.
    """

    address: str = ""
    at: float = 0.0
    prompt: int = 0


def undated(model: str) -> str:
    """A model's name without the date of its release behind it."""
    return _DATED.sub("", model)


class PriceCard:
    """Finds the entry of a model: its exact name, the name without its date, the longest prefix*.

    Names match whatever their case. A card with one wrong price is refused whole (PriceError).
    What it does not price may be listed in the catalogue that came with the release.
    """

    def __init__(self, models: Mapping[str, ModelPrice], version: int = 0) -> None:
        """version: of the deployment's card, 0 for one without versions."""
        self._exact: dict[str, Priced] = {}
        prefixes: dict[str, Priced] = {}
        source = f"price card {version}" if version else "price card"
        for entry, price in models.items():
            priced = Priced(entry, price, rates_of(price), source)
            name = entry.lower()
            (prefixes if name.endswith("*") else self._exact)[name.removesuffix("*")] = priced
        self._found: dict[str, Priced | None] = {}
        self._listed: dict[tuple[str, str, catalogue.Line], Priced] = {}
        self._prefixes = sorted(prefixes.items(), key=lambda pair: -len(pair[0]))

    def find(self, model: str) -> Priced | None:
        """The entry that prices this model, None when the card does not know it."""
        if model in self._found:
            return self._found[model]
        if len(self._found) >= LOOKUPS_MAX:
            self._found.clear()
        found = self._found[model] = self._look_up(model.lower())
        return found

    def _look_up(self, name: str) -> Priced | None:
        exact = self._exact.get(name) or self._exact.get(undated(name))
        if exact is not None:
            return exact
        return next((priced for stem, priced in self._prefixes if name.startswith(stem)), None)

    def priced(self, model: str, sale: Sale) -> Priced | None:
        """The price of a model: the card's, else the listed one; None where neither knows it."""
        if own := self.find(model):
            return own
        listed = catalogue.find(model, sale.address)
        line = listed.line(at=sale.at, prompt=sale.prompt) if listed else None
        return None if listed is None or line is None else self._sold(listed, line)

    def _sold(self, listed: catalogue.Listed, line: catalogue.Line) -> Priced:
        key = (listed.provider, listed.model.id, line)
        found = self._listed.get(key)
        if found is None:
            if len(self._listed) >= LOOKUPS_MAX:
                self._listed.clear()
            price = listed.price(line)
            found = Priced(listed.model.id, price, rates_of(price), listed.source)
            self._listed[key] = found
        return found

    def rates(self, model: str, sale: Sale) -> Rates | None:
        priced = self.priced(model, sale)
        return priced.rates if priced else None

    def window(self, model: str, address: str = "") -> int:
        """Input tokens that a model takes, 0 for unknown; a card that does not say leaves it to
        the catalogue.
        """
        own = self.find(model)
        if own is not None and own.price.window:
            return own.price.window
        listed = catalogue.find(model, address)
        return listed.model.window if listed else 0
