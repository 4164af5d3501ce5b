"""Prices and context windows of the models that providers sell, as delivered with the release.

The data is that of genai-prices, taken by `make prices` into one file of `_prices` and read when
it is first asked for. A price is the one of the provider that a request goes to; where its address
is nobody's there, of the provider that makes the model. Source: 00-start-here.md 2 (row 30).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from importlib import resources

import msgspec

from dataplane.core.resource import ModelPrice

LOOKUPS_MAX = 4096
_DAY_S = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_COMPACT_DATE = re.compile(r"-(\d{4})(\d{2})(\d{2})\Z")


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that a model's name keeps or not; exactly one member is set. Names are lower case."""

    equals: str | None = None
    starts_with: str | None = None
    ends_with: str | None = None
    contains: str | None = None
    regex: str | None = None
    any_of: list[Clause] = msgspec.field(default_factory=list, name="or")
    all_of: list[Clause] = msgspec.field(default_factory=list, name="and")

    def holds(self, name: str) -> bool:
        if self.any_of:
            return any(clause.holds(name) for clause in self.any_of)
        if self.all_of:
            return all(clause.holds(name) for clause in self.all_of)
        return self._holds(name)

    def _holds(self, name: str) -> bool:
        if self.equals is not None:
            return name == self.equals.lower()
        if self.starts_with is not None:
            return name.startswith(self.starts_with.lower())
        if self.ends_with is not None:
            return name.endswith(self.ends_with.lower())
        if self.contains is not None:
            return self.contains.lower() in name
        return self.regex is not None and re.search(self.regex, name) is not None


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """USD per million tokens as decimal text. since: the UTC day from which it holds, if stated.

    above: a request of more input tokens costs this much, all of it. A tier that is absent
    has no price of its own: such tokens are input.
    """

    input: str
    output: str
    cache_read: str | None = None
    cache_write: str | None = None
    cache_write_1h: str | None = None
    since: date | None = None
    above: int = 0

    @property
    def since_s(self) -> int:
        """The same in seconds since the epoch."""
        return (self.since.toordinal() - _EPOCH) * _DAY_S if self.since else 0

    def holds(self, at: float, prompt: int) -> bool:
        return self.since_s <= at and (prompt > self.above or not self.above)


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """window: input tokens that it takes, 0 for unknown. prices: none where it has no price."""

    id: str
    match: Clause
    window: int = 0
    prices: list[Line] = []


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """api: a pattern of its addresses. makes: the names of its own models. asks: whose models it
    sells as well. models: decoded when the provider is asked.
    """

    id: str
    api: str
    makes: Clause | None
    asks: list[str]
    models: msgspec.Raw


class _File(msgspec.Struct, frozen=True):
    source: str
    version: str
    sha256: str
    providers: list[Provider]


@dataclass(frozen=True, slots=True)
class Listed:
    """A model as the catalogue has it. source: the data and its version."""

    model: Model
    provider: str
    source: str

    def line(self, *, at: float, prompt: int) -> Line | None:
        """What holds at a time (s) for a request of so many input tokens; None for nothing."""
        lines = [line for line in self.model.prices if line.holds(at, prompt)]
        if len(lines) > 1:
            return max(lines, key=lambda each: (each.since_s, each.above))
        return lines[0] if lines else None

    def price(self, line: Line) -> ModelPrice:
        return ModelPrice(
            input=line.input,
            cache_read=line.cache_read or line.input,
            cache_write_5m=line.cache_write or line.input,
            cache_write_1h=line.cache_write_1h or (None if line.cache_write else line.input),
            output=line.output,
            window=self.model.window,
        )


def find(model: str, address: str = "") -> Listed | None:
    """The entry of a model at the provider of this address, None when it is not listed."""
    return _found(model.lower(), address)


@functools.lru_cache(maxsize=LOOKUPS_MAX)
def _found(model: str, address: str) -> Listed | None:
    """A date written without dashes is tried with them."""
    for name in (model, _COMPACT_DATE.sub(r"-\1-\2-\3", model)):
        if found := _match(name, address):
            return found
    return None


def _match(model: str, address: str) -> Listed | None:
    seller = _seller(model, address)
    if seller is None:
        return None
    held = _file()
    for provider in (seller, *_named(held, seller.asks)):
        for each in _models(provider.id):
            if each.match.holds(model):
                return Listed(each, provider.id, source())
    return None


def source() -> str:
    """The data and its version, as records name it."""
    held = _file()
    return f"{held.source} {held.version}"


def _seller(model: str, address: str) -> Provider | None:
    """Who is paid: by the address, else whoever makes the model."""
    providers = _file().providers
    by_address = (each for each in providers if address and re.match(each.api, address))
    if found := next(by_address, None):
        return found
    return next((each for each in providers if each.makes and each.makes.holds(model)), None)


def _named(held: _File, names: list[str]) -> Iterator[Provider]:
    return (provider for provider in held.providers if provider.id in names)


@functools.cache
def _file() -> _File:
    text = (
        resources.files("dataplane.core.prices._prices").joinpath("genai-prices.json").read_bytes()
    )
    return msgspec.json.decode(text, type=_File)


@functools.cache
def _models(provider: str) -> tuple[Model, ...]:
    held = next(each for each in _file().providers if each.id == provider)
    return tuple(msgspec.json.decode(held.models, type=list[Model]))
