"""The outcome of a replay as lines of text and as one JSON value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal

from dataplane.core.wire.usage import Usage
from dataplane.replay.outcome import Run, Totals, TurnOutcome, difference, totals

HEAD = ("turn", "msgs", "at s", "before", "after", "read", "write", "fresh", "out", "usd")
WIDTHS = (5, 5, 9, 9, 9, 9, 9, 9, 7, 10)
UNKNOWN = "unknown"
USD_PLACES = Decimal("0.000001")


def head_line() -> str:
    return line(HEAD)


def turn_line(outcome: TurnOutcome) -> str:
    """One turn; a failed one shows its status and what the answer said."""
    start = (str(outcome.turn), str(outcome.messages), f"{outcome.at:.1f}")
    if not outcome.succeeded:
        return f"{line(start)}  {outcome.status}: {outcome.error}"
    sizes = (shown(outcome.before), shown(outcome.after))
    return line((*start, *sizes, *usage_cells(outcome.usage), dollars(outcome.usd)))


def usage_cells(usage: Usage | None) -> tuple[str, ...]:
    if usage is None:
        return ("-",) * 4
    parts = (usage.cache_read, usage.cache_write, usage.fresh_input, usage.output)
    return tuple(map(str, parts))


def total_lines(run: Run) -> Iterator[str]:
    """The sums of a run under the table's columns, then the counters that moved."""
    sums = totals(run)
    cells = (sums.before, sums.after, sums.cache_read, sums.cache_write, sums.fresh, sums.output)
    yield line(("total", "", "", *map(shown, cells), dollars(sums.usd)))
    yield f"{run.label}: {sums.turns} turns, {sums.failed} failed, {saving(sums)}"
    yield from stats_lines(run.stats)


def saving(sums: Totals) -> str:
    if sums.saved is None or not sums.before:
        return "tokens before and after not reported"
    return f"{sums.saved} of {sums.before} tokens saved ({100 * sums.saved / sums.before:.1f} %)"


def stats_lines(stats: Mapping[str, int] | None) -> Iterator[str]:
    if stats is None:
        yield "/stats: not shown by this address"
        return
    for name, moved in stats.items():
        yield f"/stats {name}: {moved:+d}"


def difference_lines(with_: Run, without: Run) -> Iterator[str]:
    """The figures that both runs know: a gateway that changes nothing counts no content tokens."""
    yield f"{with_.label} minus {without.label}:"
    for name, value in difference(totals(with_), totals(without)).items():
        if value is not None:
            yield f"  {name:<12}{value:>+14,}"


def shown(value: int | None) -> str:
    return "-" if value is None else str(value)


def dollars(value: Decimal | None) -> str:
    return UNKNOWN if value is None else str(value.quantize(USD_PLACES))


def line(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=False))


def as_json(recording: str, runs: Sequence[Run]) -> dict[str, object]:
    """Everything that the text says, dollars as exact decimal strings."""
    value: dict[str, object] = {"recording": recording, "runs": [run_json(run) for run in runs]}
    if len(runs) > 1:
        value["difference"] = difference(totals(runs[0]), totals(runs[1]))
    return value


def run_json(run: Run) -> dict[str, object]:
    sums = totals(run)
    return {
        "label": run.label,
        "session": run.session,
        "turns": [asdict(outcome) for outcome in run.outcomes],
        "totals": {**asdict(sums), "saved": sums.saved},
        "stats": run.stats,
    }
