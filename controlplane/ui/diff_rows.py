"""Two texts side by side, ready to show: cells with marks, and long equal stretches folded.

Source: 04-controlplane-and-dashboard.md section 3.5, view `text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from controlplane.ui.numerals import plural
from dataplane.core.config.lines import Marks, Row, rows

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


def has_changes(listed: Sequence[Pair]) -> bool:
    cells = [cell for pair in listed for cell in (pair.left, pair.right) if cell]
    return any(cell.kind for cell in cells)


def _folded(found: Sequence[Row]) -> Iterator[Pair]:
    at = 0
    for is_same, group in groupby(found, key=lambda row: row.kind == "same"):
        block = list(group)
        head = 0 if at == 0 else AROUND
        at += len(block)
        tail = 0 if at == len(found) else AROUND
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
