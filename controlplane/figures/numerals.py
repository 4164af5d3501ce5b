"""How a number, an amount or a span is written on a page.

A value that was not observed or cannot be known is a word, never a figure.
Source: 04-controlplane-and-dashboard.md 0.3 and the design's table of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

NO_BREAK = "\u00a0"
MINUS = "\u2212"
TIMES = "\u00d7"
FULL_UNTIL = 1_000_000  # up to six digits a count is written out
SCALES = ((10**6, "M"), (10**9, "G"), (10**12, "T"))
ROUNDS_UP_FROM = Decimal("999.5")  # three digits would read 1000
SMALLEST_MS = 0.1
SMALLEST_USD = Decimal("0.0001")
MINUTE, HOUR, DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class Figure:
    """A value ready to show: its text, the unit behind it, and whether it is a state in words."""

    text: str
    unit: str = ""
    is_word: bool = False

    def __str__(self) -> str:
        return f"{self.text}{NO_BREAK}{self.unit}" if self.unit else self.text


NO_DATA = Figure("no data", is_word=True)  # nothing was observed
UNKNOWN = Figure("unknown", is_word=True)  # observed, and cannot be priced or computed


def count(value: int | None) -> Figure:
    """`18,402` in full up to six digits, then `1.44 G`; a negative one has a true minus."""
    if value is None:
        return NO_DATA
    sign = MINUS if value < 0 else ""
    size = abs(value)
    if size < FULL_UNTIL:
        return Figure(f"{sign}{size:,}")
    scale, unit = next((pair for pair in SCALES if size < ROUNDS_UP_FROM * pair[0]), SCALES[-1])
    return Figure(f"{sign}{_three_digits(Decimal(size) / scale)}", unit)


def _three_digits(value: Decimal) -> str:
    places = max(0, min(2, 2 - value.adjusted()))
    return str(value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def usd(amount: Decimal | None) -> Figure:
    """`$611.28`, below a dollar `$0.0372`; an amount nobody could price is unknown."""
    if amount is None:
        return UNKNOWN
    sign = MINUS if amount < 0 else ""
    size = abs(amount)
    if 0 < size < SMALLEST_USD:
        return Figure(f"{sign}<{NO_BREAK}${SMALLEST_USD}")
    places = 2 if size >= 1 or not size else 4
    return Figure(f"{sign}${size:,.{places}f}")


def change_usd(amount: Decimal | None) -> Figure:
    """An amount that is a change carries its sign: `+$79.27`."""
    figure = usd(amount)
    return Figure(f"+{figure.text}") if amount is not None and amount > 0 else figure


def times(numerator: int | None, denominator: int | None) -> Figure:
    """How often the denominator fits, as "13.1 times". Nothing divided by nothing is no data."""
    if numerator is None or not denominator:
        return NO_DATA
    return Figure(f"{Decimal(numerator) / Decimal(denominator):.1f}", TIMES)


def share(part: int | None, whole: int | None) -> Figure:
    """`18.5 %`; a share too small for one decimal is `< 0.1 %`, so that it is not read as none."""
    if part is None or not whole:
        return NO_DATA
    percent = Decimal(part) * 100 / Decimal(whole)
    if 0 < percent < Decimal("0.1"):
        return Figure(f"<{NO_BREAK}0.1", "%")
    return Figure(f"{percent:.1f}", "%")


def per_hundred(part: int | None, whole: int | None) -> str:
    """The width of a bar on a track of 100, as SVG writes it."""
    if not part or not whole:
        return "0"
    return f"{min(Decimal(100), Decimal(part) * 100 / Decimal(whole)):.2f}"


def duration(value_ms: float | None) -> Figure:
    """`11 ms`, from a second on `1.1 s`; below ten milliseconds one decimal is kept."""
    if value_ms is None:
        return NO_DATA
    if 0 < value_ms < SMALLEST_MS:
        return Figure(f"<{NO_BREAK}{SMALLEST_MS}", "ms")
    if value_ms >= 1000:  # noqa: PLR2004  a second
        return Figure(f"{value_ms / 1000:.1f}", "s")
    places = 1 if value_ms < 10 else 0  # noqa: PLR2004
    return Figure(f"{value_ms:.{places}f}", "ms")


def span(seconds: float) -> str:
    """The two largest units: `12 d 4 h`, `4 h 10 min`, `4 min`, `40 s`."""
    whole = max(0, int(seconds))
    if whole >= DAY:
        return _pair((whole // DAY, "d"), (whole % DAY // HOUR, "h"))
    if whole >= HOUR:
        return _pair((whole // HOUR, "h"), (whole % HOUR // MINUTE, "min"))
    if whole >= MINUTE:
        return f"{whole // MINUTE}{NO_BREAK}min"
    return f"{whole}{NO_BREAK}s"


def _pair(large: tuple[int, str], small: tuple[int, str]) -> str:
    shown = (large, small) if small[0] else (large,)
    return " ".join(f"{value}{NO_BREAK}{unit}" for value, unit in shown)


def plural(number: int, one: str, many: str = "") -> str:
    """`1 request`, `18,402 requests`."""
    return f"{count(number)}{NO_BREAK}{one if number == 1 else many or one + 's'}"
