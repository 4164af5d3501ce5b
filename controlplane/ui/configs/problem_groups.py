"""The problem list as it is read: what blocks saving first, and repetitions as one (04 §5.9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.ui.configs.problem_rows import ProblemRow

MANY = 3  # problems of one code that are read as one
LEVELS = ("error", "warning", "advice")


@dataclass(frozen=True, slots=True)
class Group:
    """One problem, or several of one code that block nothing."""

    rows: tuple[ProblemRow, ...]

    @property
    def first(self) -> ProblemRow:
        return self.rows[0]

    @property
    def others(self) -> int:
        return len(self.rows) - 1

    @property
    def lines(self) -> str:
        """`lines 4, 5, 9`, without the columns."""
        places = dict.fromkeys(
            row.place.partition(":")[0].removeprefix("line ") for row in self.rows
        )
        return f"lines {', '.join(places)}" if len(places) > 1 else self.first.place


def grouped(listed: Iterable[ProblemRow]) -> tuple[Group, ...]:
    """Errors, warnings, advice; each in the order of the text.

    A group stands where its first problem does. Errors are never gathered: each has to be read.
    """
    ordered = sorted(listed, key=lambda row: LEVELS.index(row.level))
    alike: dict[str, list[ProblemRow]] = {}
    for row in ordered:
        alike.setdefault(row.code, []).append(row)
    groups: list[Group] = []
    for row in ordered:
        same = alike[row.code]
        if row.level == "error" or len(same) < MANY:
            groups.append(Group((row,)))
        elif row is same[0]:
            groups.append(Group(tuple(same)))
    return tuple(groups)
