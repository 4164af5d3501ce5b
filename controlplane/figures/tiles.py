"""Figures with a label, of which the Overview has the most: volume and savings.

What was not observed is shown as a word. Templates only place what is computed here.
Source: 04-controlplane-and-dashboard.md 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.figures import numerals
from controlplane.figures.numerals import Figure
from controlplane.figures.stats import Stats, all_requests, whole


@dataclass(frozen=True, slots=True)
class About:
    """The small print of a figure: definition, formula, source field, and the catch."""

    what: str
    field: str
    formula: str = ""
    catch: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure with its label. key names the nodes that are replaced when it changes."""

    key: str
    label: str
    figure: Figure
    sub: str
    about: About | None = None
    tone: str = ""


def volume(stats: Stats) -> tuple[Tile, ...]:
    """Requests, and what they carried before and after."""
    before, after = whole(stats, "tokens_before"), whole(stats, "tokens_after")
    shaped, sessions = whole(stats, "requests"), whole(stats, "sessions")
    through = "" if shaped is None else f"{numerals.count(shaped)} through the pipeline"
    return (
        Tile("requests", "Requests", numerals.count(all_requests(stats)), through),
        Tile("sessions", "Sessions", numerals.count(sessions), "began in this time"),
        Tile("tokens-before", "Sent by agents", numerals.count(before), "tokens, as arrived"),
        Tile("tokens-after", "Sent to providers", numerals.count(after), "tokens, compacted"),
    )


GROSS = About(
    "Tokens not sent, summed over every request.",
    "saved_tokens",
    "Σ over requests of (tokens_before less tokens_after)",
    "History is re-sent each turn, so one removal counts many times. Never compare it with unique.",
)
UNIQUE = About(
    "Tokens removed, each removed span counted once however often it was re-sent.",
    "saved_tokens_unique",
    "Σ over spans of tokens removed at first sight",
)
NET = About(
    "Gross saving less what agents asked back.",
    "adjusted_saved",
    "saved_tokens less wasted_tokens",
    "It can be negative: then compaction cost more tokens than it saved.",
)


def savings(stats: Stats) -> tuple[Tile, ...]:
    """What was not sent: once per span, net of restores, and with re-sends."""
    gross, unique = whole(stats, "saved_tokens"), whole(stats, "saved_tokens_unique")
    net, expands = whole(stats, "adjusted_saved"), whole(stats, "bounces")
    after = (
        "expands not reported" if expands is None else f"after {numerals.plural(expands, 'expand')}"
    )
    costs = net is not None and net < 0
    return (
        Tile("unique", "Unique", numerals.count(unique), "each span once", UNIQUE),
        Tile(
            "net",
            "Net of restores",
            numerals.count(net),
            "more given back than saved" if costs else after,
            NET,
            "is-alarm" if costs else "",
        ),
        Tile("gross", "Gross", numerals.count(gross), "re-sends included", GROSS),
        Tile(
            "repeats", "Gross ÷ unique", numerals.times(gross, unique), "times each span was spared"
        ),
    )
