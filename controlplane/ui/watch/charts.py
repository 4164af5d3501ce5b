"""A chart as the table that it is drawn from (the design's "Charts"; 04 §5.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from controlplane.figures.numerals import NO_DATA

MOST_SERIES = 8
OTHER = "other"
SPARK_POINTS = 40
SPARK_WIDTH, SPARK_TOP, SPARK_BOTTOM = 100.0, 1.0, 27.0


@dataclass(frozen=True, slots=True)
class Column:
    """key: what the stream calls it. place: from 1, of its colour and dash."""

    key: str
    name: str
    place: int
    total: int


@dataclass(frozen=True, slots=True)
class Row:
    """at: seconds since the epoch. cells: texts, one for each column."""

    at: int
    cells: tuple[str, ...]

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to everything at once. kind: the token of its colour."""

    at: int
    kind: str
    word: str


@dataclass(frozen=True, slots=True)
class Chart:
    """kind: stack, lines or running. total and finding: the sentence above it. label: all of it in
    words.
    """

    name: str
    kind: str
    unit: str
    step_s: int
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: str
    finding: str
    label: str
    caption: str
    marks: tuple[Mark, ...] = ()

    @property
    def step(self) -> str:
        return f"{self.step_s} seconds" if self.step_s < 60 else f"{self.step_s // 60} minutes"  # noqa: PLR2004


def columns_of(series: Mapping[str, Sequence[int]], known: Sequence[str]) -> tuple[Column, ...]:
    """Most first, then those that are known and did not occur; the last of too many is "other"."""
    totals = {name: sum(series.get(name, ())) for name in {**dict.fromkeys(known), **series}}
    names = sorted(totals, key=lambda name: -totals[name])
    if len(names) > MOST_SERIES:
        shown, rest = names[: MOST_SERIES - 1], names[MOST_SERIES - 1 :]
        totals[OTHER] = sum(totals[name] for name in rest)
        names = [*shown, OTHER]
    return tuple(
        Column(name, name, place, totals[name]) for place, name in enumerate(names, start=1)
    )


def rows_of(
    columns: Sequence[Column],
    series: Mapping[str, Sequence[int]],
    starts: Sequence[int],
    observed: Sequence[bool],
    write: Callable[[int], str] = "{:,}".format,
) -> tuple[Row, ...]:
    """starts: of each step, ms. An empty step in which nobody watched says so."""
    summed = [_column(column, columns, series, len(starts)) for column in columns]
    return tuple(
        Row(start // 1000, _cells([column[i] for column in summed], write, is_seen=observed[i]))
        for i, start in enumerate(starts)
    )


def _column(
    column: Column, columns: Sequence[Column], series: Mapping[str, Sequence[int]], steps: int
) -> Sequence[int]:
    if column.key in series or column.key != OTHER:
        return series.get(column.key) or [0] * steps
    shown = {each.key for each in columns}
    rest = [values for name, values in series.items() if name not in shown]
    return [sum(at) for at in zip(*rest, strict=True)] if rest else [0] * steps


def _cells(values: Sequence[int], write: Callable[[int], str], *, is_seen: bool) -> tuple[str, ...]:
    if not is_seen and not any(values):
        return (NO_DATA.text,) * len(values)
    return tuple(write(value) for value in values)


def spark(values: Sequence[int]) -> str:
    """The path of a small line in a box of 100 by 28; "" where there is nothing to see."""
    if not any(values):
        return ""
    size = max(1, -(-len(values) // SPARK_POINTS))
    points = [sum(values[i : i + size]) for i in range(0, len(values), size)]
    if len(points) > 1 and len(values) % size:
        points.pop()  # the last, incomplete one would read as a fall
    top = max(points) or 1
    step = SPARK_WIDTH / max(1, len(points) - 1)
    heights = [SPARK_BOTTOM - (SPARK_BOTTOM - SPARK_TOP) * point / top for point in points]
    return "M" + " L".join(f"{i * step:.1f} {height:.1f}" for i, height in enumerate(heights))
