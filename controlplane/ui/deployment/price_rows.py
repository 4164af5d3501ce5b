"""A price card as rows ready to show, and as a text that somebody edited (04 §5.14)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import urlencode

from django.http import QueryDict

from controlplane.accounts.scopes import Scope
from controlplane.figures import numerals
from controlplane.figures.numerals import NO_DATA, UNKNOWN, Figure
from controlplane.prices import queries
from controlplane.prices.entries import Entry, price_of
from controlplane.telemetry.queries.unpriced import unpriced_models
from controlplane.ui.frame.shown_text import visible
from dataplane.core.prices.money import PriceError

NEW_LINES = 3
LONGEST_NUMBER = 9
LEAST_DECIMALS = 2
COLUMNS = ("match", "input", "output", "cache_read", "cache_write", "cache_write_1h")


@dataclass(frozen=True, slots=True)
class Tier:
    """USD per million tokens, to the last digit. is_derived: from the input price."""

    text: str
    is_derived: bool


@dataclass(frozen=True, slots=True)
class PriceRow:
    """premium, premium_1h: what it costs to write a prefix again, in cache reads of it (X)."""

    match: str
    tiers: tuple[Tier, ...]
    premium: Figure
    premium_1h: Figure
    window: Figure
    minimum: Figure
    note: str
    is_estimate: bool


def price_rows(entries: Iterable[Entry]) -> list[PriceRow]:
    """Each column has as many decimals as its longest price, so that digits stand in line."""
    rows = [_row(entry) for entry in entries]
    columns = list(zip(*(row.tiers for row in rows), strict=True))
    places = [max(LEAST_DECIMALS, *map(_decimals, column)) for column in columns]
    return [replace(row, tiers=_aligned(row.tiers, places)) for row in rows]


def _decimals(tier: Tier) -> int:
    return len(tier.text.partition(".")[2])


def _aligned(tiers: Sequence[Tier], places: Sequence[int]) -> tuple[Tier, ...]:
    pairs = zip(tiers, places, strict=True)
    return tuple(replace(tier, text=f"{Decimal(tier.text):.{count}f}") for tier, count in pairs)


def _row(entry: Entry) -> PriceRow:
    price = price_of(entry)
    hour = price.cache_write_1h or "0"
    return PriceRow(
        match=entry.match,
        tiers=(
            Tier(price.input, is_derived=False),
            Tier(price.cache_read, is_derived=not entry.cache_read),
            Tier(price.cache_write_5m, is_derived=not entry.cache_write),
            Tier(hour, is_derived=not entry.cache_write_1h),
            Tier(price.output, is_derived=False),
        ),
        premium=_premium(price.cache_write_5m, price.cache_read),
        premium_1h=_premium(hour, price.cache_read),
        window=numerals.count(entry.window) if entry.window else NO_DATA,
        minimum=numerals.count(entry.cache_minimum),
        note=entry.note,
        is_estimate=entry.estimate,
    )


def _premium(write: str, read: str) -> Figure:
    """(write less read) by read; unknown where reading costs nothing."""
    if not Decimal(read):
        return UNKNOWN
    premium = (Decimal(write) - Decimal(read)) / Decimal(read)
    return Figure(f"{premium:.1f}".replace("-", numerals.MINUS))


@dataclass(frozen=True, slots=True)
class UnpricedRow:
    """A model that was seen and has no price yet. add: the query that opens a line for it."""

    model: str
    requests: Figure
    last: datetime
    add: str


def unpriced_rows(scope: Scope) -> list[UnpricedRow]:
    """What got a price since is left out: its next request has it."""
    seen = unpriced_models(scope)
    missing = queries.still_unpriced(each.model for each in seen)
    return [
        UnpricedRow(
            visible(each.model),
            numerals.count(each.requests),
            datetime.fromtimestamp(each.last_at / 1000, UTC),
            urlencode({"add": each.model}),
        )
        for each in seen
        if each.model in missing
    ]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the form; number: what tells its fields from those of the other lines."""

    number: int
    entry: Entry


def lines(entries: Sequence[Entry], *, new: int = NEW_LINES) -> list[Line]:
    """The entries, and some empty ones to fill in."""
    empty = [Entry(match="", input="", output="")] * new
    return [Line(number, entry) for number, entry in enumerate([*entries, *empty])]


def entries_sent(sent: QueryDict) -> list[Entry]:
    """What the form holds, without the lines whose model is empty; PriceError for a bad number."""
    columns = [sent.getlist(name) for name in (*COLUMNS, "window", "cache_minimum", "note")]
    estimates = set(sent.getlist("estimate"))
    if len({len(column) for column in columns}) != 1:
        raise PriceError("The form was cut short; nothing is saved.")
    entries = []
    for number, cells in enumerate(zip(*columns, strict=True)):
        texts = [cell.strip() for cell in cells]
        if texts[0]:
            entries.append(_entry(texts, estimate=str(number) in estimates))
    return entries


def _entry(texts: Sequence[str], *, estimate: bool) -> Entry:
    prices = dict(zip(COLUMNS, texts, strict=False))
    window, minimum, note = texts[len(COLUMNS) :]
    return Entry(
        **prices,
        window=_whole(window, 0),
        cache_minimum=_whole(minimum, 1024),
        note=note[:200],
        estimate=estimate,
    )


def _whole(text: str, default: int) -> int:
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > LONGEST_NUMBER:
        raise PriceError(f"{text!r} is not a number of tokens")
    return int(text)
