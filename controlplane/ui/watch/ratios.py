"""What was saved as a share of what: four ratios that are never mixed up (04 §5.1)."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.figures.numerals import Figure, count, per_hundred, share


@dataclass(frozen=True, slots=True)
class Ratio:
    """key: of its leaves. of: the denominator, in words. width: of its bar on a track of 100."""

    key: str
    name: str
    figure: Figure
    width: str
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Tokens; None for unknown. billed_anew: fresh input and cache writes."""

    gross: int | None
    unique: int | None
    attempted: int | None
    before: int | None
    billed_anew: int | None


def ratios(parts: Parts) -> tuple[Ratio, ...]:
    """Without the usage that a provider reports nothing is known to be billed anew."""
    unique, before = parts.unique, parts.before
    anew = parts.billed_anew + max(0, unique or 0) if parts.billed_anew else None
    return (
        _ratio(
            "gross-attempted", "Gross \N{DIVISION SIGN} attempted", parts.gross, parts.attempted,
            f"of the {count(parts.attempted)} tokens it was allowed to touch",
        ),
        _ratio(
            "unique-anew", "Unique \N{DIVISION SIGN} newly billed input", unique, anew,
            f"of fresh + cache writes + unique, {count(anew)} tokens",
        ),
        _ratio(
            "gross-whole", "Gross \N{DIVISION SIGN} whole request", parts.gross, before,
            "diluted: history is re-sent every turn",
        ),
        _ratio(
            "unique-whole", "Unique \N{DIVISION SIGN} whole request", unique, before,
            f"of {count(before)} tokens sent by agents",
        ),
    )  # fmt: skip


def _ratio(key: str, name: str, part: int | None, whole: int | None, of: str) -> Ratio:
    if not whole:
        of = "nothing to divide by"
    return Ratio(key, name, share(part, whole), per_hundred(max(0, part or 0), whole), of)
