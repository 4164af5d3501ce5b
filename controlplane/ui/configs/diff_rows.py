"""Two texts side by side or in one column, ready to show: marked, long equal stretches folded.

Source: 04-controlplane-and-dashboard.md 3.5, view `text`, and 5.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from controlplane.figures.numerals import plural
from dataplane.core.config.lines import Marks, Row, rows

SHOWN = 12  # lines of a long stretch that stand open in one column
AROUND = 3  # equal lines that stay on each side of a change
SIGNS = {"add": "+", "del": "\N{MINUS SIGN}", "": ""}
WORDS = {"add": "added ", "del": "removed ", "": ""}


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of one side. line: "" where the side has none. kind: add, del or "" for equal."""

    line: str
    kind: str
    pieces: tuple[Piece, ...]

    @property
    def sign(self) -> str:
        return SIGNS[self.kind]

    @property
    def word(self) -> str:
        return WORDS[self.kind]


@dataclass(frozen=True, slots=True)
class Pair:
    """folded: how many equal lines stand here instead, as a sentence; then there are no cells."""

    left: Cell | None = None
    right: Cell | None = None
    folded: str = ""


def pairs(left: str, right: str, *, whole: bool = False) -> tuple[Pair, ...]:
    """whole: with every equal line."""
    found = rows(left, right)
    return tuple(_pair(row) for row in found) if whole else tuple(_folded(found))


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines of one kind in one column. behind: what opens them, "" where they stand open.

    folded: how many equal lines stand here instead.
    """

    cells: tuple[Cell, ...] = ()
    behind: str = ""
    folded: str = ""


def in_one_column(listed: Sequence[Pair]) -> Iterator[Stretch]:
    """What was removed stands before what was added in its place; much of a kind is cut short."""
    for kind, group in groupby(_one_by_one(listed), key=lambda each: getattr(each, "kind", None)):
        cells = []
        for each in group:
            if isinstance(each, str):
                yield Stretch(folded=each)
            else:
                cells.append(each)
        if len(cells) <= SHOWN + AROUND:
            yield from [Stretch(tuple(cells))] if cells else []
            continue
        yield Stretch(tuple(cells[:SHOWN]))
        rest = tuple(cells[SHOWN:])
        yield Stretch(rest, behind=plural(len(rest), f"more {WORDS[kind or '']}line"))


def _one_by_one(listed: Sequence[Pair]) -> Iterator[Cell | str]:
    for is_changed, group in groupby(listed, key=lambda pair: has_changes([pair])):
        run = list(group)
        if is_changed:
            yield from (pair.left for pair in run if pair.left and pair.left.line)
            yield from (pair.right for pair in run if pair.right and pair.right.line)
        else:
            yield from (pair.left or pair.folded for pair in run)


def has_changes(listed: Sequence[Pair]) -> bool:
    cells = [cell for pair in listed for cell in (pair.left, pair.right) if cell]
    return any(cell.kind for cell in cells)


def _folded(listed: Sequence[Row]) -> Iterator[Pair]:
    at = 0
    for is_same, group in groupby(listed, key=lambda row: row.kind == "same"):
        block = list(group)
        head = 0 if at == 0 else AROUND
        at += len(block)
        tail = 0 if at == len(listed) else AROUND
        hidden = len(block) - head - tail
        if not is_same or hidden <= 1:
            yield from map(_pair, block)
            continue
        yield from map(_pair, block[:head])
        yield Pair(folded=plural(hidden, "equal line"))
        yield from map(_pair, block[len(block) - tail :])


def _pair(row: Row) -> Pair:
    same = row.kind == "same"
    return Pair(
        _cell(row.left_line, row.left, row.left_marks, "" if same else "del"),
        _cell(row.right_line, row.right, row.right_marks, "" if same else "add"),
    )


def _cell(line: int | None, text: str, marks: Marks, kind: str) -> Cell:
    if line is None:
        return Cell("", "", ())
    return Cell(str(line), kind, tuple(_pieces(text, marks)))


def _pieces(text: str, marks: Marks) -> Iterator[Piece]:
    at = 0
    for start, end in marks:
        yield from [Piece(text[at:start], is_marked=False)] if start > at else []
        yield Piece(text[start:end], is_marked=True)
        at = end
    if at < len(text):
        yield Piece(text[at:], is_marked=False)
