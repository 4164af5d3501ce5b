"""Three-way merge of a lost race: what both wrote stays, what collides is asked (04 §5.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from dataplane.core.config.lines import common

Outcome = Literal["same", "mine", "theirs", "both", "conflict"]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of the three texts that belong together.

    outcome: who changed them: nobody, I, they, both alike, or both differently.
    """

    outcome: Outcome
    base: tuple[str, ...]
    theirs: tuple[str, ...]
    mine: tuple[str, ...]

    @property
    def merged(self) -> tuple[str, ...]:
        """What the merge takes unless it is told otherwise: in a conflict, mine."""
        return self.theirs if self.outcome == "theirs" else self.mine


@dataclass(frozen=True, slots=True)
class Merge:
    """text: with mine where both differ, so that nothing the author wrote is lost."""

    hunks: tuple[Hunk, ...]

    @property
    def text(self) -> str:
        return "".join(line for hunk in self.hunks for line in hunk.merged)

    @property
    def conflicts(self) -> int:
        return sum(hunk.outcome == "conflict" for hunk in self.hunks)


def merge(base: str, theirs: str, mine: str) -> Merge:
    """base: the version that both started from. Line ends are part of the lines."""
    lines = [text.splitlines(keepends=True) for text in (base, theirs, mine)]
    hunks: list[Hunk] = []
    at = (0, 0, 0)
    for meeting in [*_meetings(*lines), tuple(map(len, lines))]:
        gap = [tuple(text[low:high]) for text, low, high in zip(lines, at, meeting, strict=True)]
        if any(gap):
            hunks.append(_hunk(gap[0], gap[1], gap[2]))
        if meeting[0] < len(lines[0]):
            line = (lines[0][meeting[0]],)
            hunks.append(Hunk("same", line, line, line))
        at = (meeting[0] + 1, meeting[1] + 1, meeting[2] + 1)
    return Merge(tuple(_joined(hunks)))


def _meetings(
    base: Sequence[str], theirs: Sequence[str], mine: Sequence[str]
) -> list[tuple[int, int, int]]:
    """Index triples of base lines that both sides kept."""
    in_theirs, in_mine = dict(common(base, theirs)), dict(common(base, mine))
    return [(index, in_theirs[index], in_mine[index]) for index in in_theirs if index in in_mine]


def _hunk(base: tuple[str, ...], theirs: tuple[str, ...], mine: tuple[str, ...]) -> Hunk:
    outcome: Outcome = "conflict"
    if theirs == mine:
        outcome = "both"
    elif theirs == base:
        outcome = "mine"
    elif mine == base:
        outcome = "theirs"
    return Hunk(outcome, base, theirs, mine)


def _joined(hunks: Sequence[Hunk]) -> list[Hunk]:
    """Neighbours that nobody changed as one."""
    found: list[Hunk] = []
    for is_same, group in groupby(hunks, key=lambda hunk: hunk.outcome == "same"):
        if is_same:
            lines = tuple(line for hunk in group for line in hunk.base)
            found.append(Hunk("same", lines, lines, lines))
        else:
            found += group
    return found
