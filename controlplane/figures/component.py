"""The figures of one component that its page and its stream both show (04 §5.2, 6.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.figures import numerals
from controlplane.figures.numerals import NO_DATA, UNKNOWN, Figure
from controlplane.telemetry.queries import ComponentFigures, State

CANDIDATES, REQUESTS, EVENTS = "candidates", "requests", "events"
DID = {
    "acted_fresh": "acted for the first time",
    "acted_replay": "replayed",
    "reverted": "reverted",
}


def seen(figures: ComponentFigures, value: int) -> Figure:
    """A number, or why there is none."""
    if figures.state is State.UNKNOWN:
        return UNKNOWN
    if figures.state is State.NO_DATA:
        return NO_DATA
    return numerals.count(value)


@dataclass(frozen=True, slots=True)
class Headline:
    """One figure at the top of the page; key: of its leaf."""

    key: str
    label: str
    figure: Figure
    sub: str


def headlines(figures: ComponentFigures) -> tuple[Headline, ...]:
    """Runs, what came of them, what was saved, and what it took."""
    counts = figures.counts
    runs, acted = _of(figures, "runs"), _of(figures, "acted")
    fresh, again = counts.get("acted_fresh", 0), counts.get("acted_replay", 0)
    mean = numerals.duration(figures.mean_ms)
    return (
        Headline("c-runs", "Runs", runs, "requests it looked at"),
        Headline(
            "c-acted",
            "Acted",
            acted,
            f"{numerals.count(fresh)} first time, {numerals.count(again)} replayed",
        ),
        Headline("c-declined", "Declined", seen(figures, figures.declines), "candidates, by gate"),
        Headline(
            "c-unique", "Unique saved", _of(figures, "saved_unique"), "tokens, each span once"
        ),
        Headline("c-gross", "Gross", _of(figures, "saved_gross"), "tokens, re-sends included"),
        Headline(
            "c-reverted",
            "Reverted",
            _of(figures, "reverted"),
            f"discarded {numerals.count(counts.get('discarded', 0))}",
        ),
        Headline("c-mean", "Time per run", mean, "mean"),
    )


def _of(figures: ComponentFigures, name: str) -> Figure:
    return seen(figures, figures.counts.get(name, 0))


def leaves(figures: ComponentFigures) -> Mapping[str, tuple[str, str, bool]]:
    """The texts on the page that a stream replaces, by the id of their leaf."""
    texts: dict[str, tuple[str, str, bool]] = {}
    for headline in headlines(figures):
        texts[headline.key] = _leaf(headline.figure)
        texts[f"{headline.key}-sub"] = (headline.sub, "", False)
    texts["declines-candidates-total"] = _leaf(seen(figures, figures.declines))
    for gate in figures.gates:
        texts[f"gate-{gate.name}"] = _leaf(numerals.count(gate.n))
        texts[f"gate-{gate.name}-requests"] = _leaf(numerals.count(gate.requests))
        texts[f"gate-{gate.name}-share"] = _leaf(numerals.share(gate.n, figures.declines))
    return texts


def _leaf(figure: Figure) -> tuple[str, str, bool]:
    return figure.text, figure.unit, figure.is_word
