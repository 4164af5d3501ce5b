"""Did you mean: the nearest known names (04-controlplane-and-dashboard.md 2.4)."""

from __future__ import annotations

from collections.abc import Iterable

LIMIT = 3
_REACH = ((4, 1), (9, 2))  # names up to so many characters, may be so many edits away
_REACH_BEYOND = 3


def nearest(name: str, known: Iterable[str], limit: int = LIMIT) -> list[str]:
    """The known names within reach of a misspelt one, best first.

    Ties go to the longer shared beginning, then to the alphabet.
    """
    reach = next((reach for size, reach in _REACH if len(name) <= size), _REACH_BEYOND)
    ranked = []
    for candidate in known:
        distance = damerau_levenshtein(name.lower(), candidate.lower(), reach)
        if distance <= reach:
            ranked.append((distance, -_shared(name, candidate), candidate))
    return [candidate for _, _, candidate in sorted(ranked)[:limit]]


def damerau_levenshtein(left: str, right: str, reach: int) -> int:
    """Insertions, deletions, changes and swaps of neighbours; reach + 1 when further away."""
    if abs(len(left) - len(right)) > reach:
        return reach + 1
    before: list[int] = []
    above = list(range(len(right) + 1))
    for row, ours in enumerate(left, 1):
        here = [row]
        for column, theirs in enumerate(right, 1):
            cost = min(above[column] + 1, here[-1] + 1, above[column - 1] + (ours != theirs))
            if row > 1 and column > 1 and ours == right[column - 2] and left[row - 2] == theirs:
                cost = min(cost, before[column - 2] + 1)
            here.append(cost)
        if min(here) > reach:
            return reach + 1
        before, above = above, here
    return min(above[-1], reach + 1)


def _shared(left: str, right: str) -> int:
    pairs = zip(left, right, strict=False)
    return next((at for at, (ours, theirs) in enumerate(pairs) if ours != theirs), len(left))
