"""The difference of two texts by their longest common subsequence of lines, in rows side by side.

Source: 04-controlplane-and-dashboard.md 3.5, view `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

# What a comparison may cost, in steps of its search: of all lines, and of the words of all changed
# lines together. Beyond, what lies between the common ends is one replacement.
LINE_STEPS = 200_000
WORD_STEPS = 200_000
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
Marks = tuple[tuple[int, int], ...]
Kind = Literal["same", "changed", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of each side. left_line, right_line: 1-based, None where a side has no line here.

    left_marks, right_marks: character ranges of a changed line that differ.
    """

    kind: Kind
    left_line: int | None = None
    left: str = ""
    right_line: int | None = None
    right: str = ""
    left_marks: Marks = ()
    right_marks: Marks = ()


def rows(left: str, right: str) -> list[Row]:
    """Both texts in full, line by line, comments included."""
    ours, theirs = left.splitlines(), right.splitlines()
    found: list[Row] = []
    meetings = [*common(ours, theirs), (len(ours), len(theirs))]
    before = [(0, 0), *((a + 1, b + 1) for a, b in meetings)]
    changed = sum(min(a - i, b - j) for (i, j), (a, b) in zip(before, meetings, strict=False))
    steps = WORD_STEPS // max(changed, 1)
    for (i, j), (a, b) in zip(before, meetings, strict=False):
        found += _gap(ours[i:a], theirs[j:b], (i, j), steps)
        if a < len(ours):
            found.append(Row("same", a + 1, ours[a], b + 1, theirs[b]))
    return found


def unified(found: Sequence[Row]) -> Iterator[str]:
    """The same rows as lines that begin with a blank, - or +; removed lines come first."""
    added: list[str] = []
    for row in found:
        if row.kind == "same":
            yield from added
            added = []
            yield " " + row.left
            continue
        if row.left_line is not None:
            yield "-" + row.left
        if row.right_line is not None:
            added.append("+" + row.right)
    yield from added


def common(
    left: Sequence[str], right: Sequence[str], steps: int = LINE_STEPS
) -> list[tuple[int, int]]:
    """Index pairs of a longest common subsequence, in order.

    steps: what finding it may cost; only the common ends where it costs more.
    """
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    ours, theirs = left[head : len(left) - tail], right[head : len(right) - tail]
    pairs = [(index, index) for index in range(head)]
    pairs += [(head + i, head + j) for i, j in _shortest_edit(ours, theirs, steps)]
    ends = range(tail, 0, -1)
    return pairs + [(len(left) - index, len(right) - index) for index in ends]


def _shortest_edit(left: Sequence[str], right: Sequence[str], steps: int) -> list[tuple[int, int]]:
    """Myers: the furthest reaching path for each number of edits, then the way back."""
    reached = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(len(left) + len(right) + 1):
        trail.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            start = x = _begin(reached, diagonal, edits)
            y = x - diagonal
            while x < len(left) and y < len(right) and left[x] == right[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            steps -= 1 + x - start
            if x >= len(left) and y >= len(right):
                return _way_back(trail, len(left), len(right))
        if steps < 0:
            break
    return []


def _begin(reached: dict[int, int], diagonal: int, edits: int) -> int:
    down = diagonal == -edits
    if not down and diagonal != edits:
        down = reached[diagonal - 1] < reached[diagonal + 1]
    return reached[diagonal + 1] if down else reached[diagonal - 1] + 1


def _way_back(trail: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trail) - 1, -1, -1):
        start = _begin(trail[edits], x - y, edits)
        while x > start:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        diagonal, x_before = x - y, trail[edits]
        if edits:
            down = diagonal == -edits or (
                diagonal != edits and x_before[diagonal - 1] < x_before[diagonal + 1]
            )
            x, y = (x, y - 1) if down else (x - 1, y)
    return pairs[::-1]


def _gap(
    left: Sequence[str], right: Sequence[str], at: tuple[int, int], steps: int
) -> Iterator[Row]:
    """Lines that have no counterpart: paired as changed, the rest removed or added.

    at: indices of the first on each side. steps: what comparing two of them may cost.
    """
    i, j = at
    for index in range(max(len(left), len(right))):
        if index >= len(right):
            yield Row("removed", i + index + 1, left[index])
        elif index >= len(left):
            yield Row("added", right_line=j + index + 1, right=right[index])
        else:
            ours, theirs = left[index], right[index]
            marks = _marks(ours, theirs, steps)
            yield Row("changed", i + index + 1, ours, j + index + 1, theirs, *marks)


def _marks(left: str, right: str, steps: int) -> tuple[Marks, Marks]:
    """What differs inside two lines, by words."""
    ours, theirs = _WORD.findall(left), _WORD.findall(right)
    pairs = common(ours, theirs, steps)
    return _unpaired(ours, {i for i, _ in pairs}), _unpaired(theirs, {j for _, j in pairs})


def _unpaired(words: Sequence[str], paired: set[int]) -> Marks:
    marks: list[tuple[int, int]] = []
    at = 0
    for index, word in enumerate(words):
        if index not in paired:
            start = marks.pop()[0] if marks and marks[-1][1] == at else at
            marks.append((start, at + len(word)))
        at += len(word)
    return tuple(marks)
