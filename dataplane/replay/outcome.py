"""What became of each replayed turn, the totals of a run, and what two runs differ by.

Unknown is None, never 0: a usage that was not reported and a model without a price stay unknown,
and so does every total that contains them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus

from dataplane.core.wire.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """before, after: content tokens around the pipeline, as the gateway's headers say.

    at: seconds since the first turn. error: what the answer said when it was not a success.
    """

    turn: int
    messages: int
    at: float
    status: int
    before: int | None = None
    after: int | None = None
    usage: Usage | None = None
    usd: Decimal | None = None
    error: str = ""

    @property
    def succeeded(self) -> bool:
        return self.status == HTTPStatus.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One replay of one recording. stats: the gateway's counters that changed, by dotted name."""

    label: str
    session: str
    outcomes: tuple[TurnOutcome, ...]
    stats: Mapping[str, int] | None = None

    @property
    def failed(self) -> int:
        return sum(not outcome.succeeded for outcome in self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over a run; None where any of its turns is unknown."""

    turns: int
    failed: int
    before: int | None
    after: int | None
    cache_read: int | None
    cache_write: int | None
    fresh: int | None
    output: int | None
    usd: Decimal | None

    @property
    def saved(self) -> int | None:
        return None if self.before is None or self.after is None else self.before - self.after


MOMENTARY = frozenset({"inflight"})
FIGURES = ("before", "after", "cache_read", "cache_write", "fresh", "output", "usd")


def totals(run: Run) -> Totals:
    done = [outcome for outcome in run.outcomes if outcome.succeeded]
    usages = [outcome.usage for outcome in done]

    def used(part: Callable[[Usage], int]) -> int | None:
        return whole([None if usage is None else part(usage) for usage in usages])

    prices = [outcome.usd for outcome in done]
    return Totals(
        turns=len(run.outcomes),
        failed=run.failed,
        before=whole([outcome.before for outcome in done]),
        after=whole([outcome.after for outcome in done]),
        cache_read=used(lambda usage: usage.cache_read),
        cache_write=used(lambda usage: usage.cache_write),
        fresh=used(lambda usage: usage.fresh_input),
        output=used(lambda usage: usage.output),
        usd=None if None in prices else sum((p for p in prices if p is not None), Decimal()),
    )


def whole(parts: Sequence[int | None]) -> int | None:
    """The sum, or None when a part is unknown or there is none."""
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None


def difference(with_: Totals, without: Totals) -> dict[str, int | Decimal | None]:
    """With minus without, figure by figure; None where either is unknown."""
    return {name: minus(getattr(with_, name), getattr(without, name)) for name in FIGURES}


def minus(a: int | Decimal | None, b: int | Decimal | None) -> int | Decimal | None:
    if a is None or b is None:
        return None
    return Decimal(a) - Decimal(b) if isinstance(a, Decimal) or isinstance(b, Decimal) else a - b


def counters(value: object, name: str = "") -> dict[str, int]:
    """Every whole number in nested counters by dotted name. What is no whole number is a ratio, a
    mean or a duration, and its change says nothing about this run; nor does a moment's load.
    """
    if isinstance(value, Mapping):
        parts = (counters(inner, f"{name}.{key}".strip(".")) for key, inner in value.items())
        return {key: count for part in parts for key, count in part.items()}
    if isinstance(value, bool) or not isinstance(value, int) or name in MOMENTARY:
        return {}
    return {name: value}


def changed(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Counters of after that moved, by how much."""
    moved = ((name, value - before.get(name, 0)) for name, value in after.items())
    return {name: delta for name, delta in moved if delta}
