"""Durations counted in 40 fixed slots, five per factor of ten, so that percentiles add up.

Source: 04-controlplane-and-dashboard.md 1.6 (histograms).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

SLOTS = 40
_PER_DECADE = 5
_SMALLEST_EXPONENT = -2  # the first slot ends at 0.01 ms, the last at 631 s

# Upper bounds in ms; what is longer than the last lies in the last slot.
BOUNDS_MS = tuple(10 ** (_SMALLEST_EXPONENT + slot / _PER_DECADE) for slot in range(SLOTS))


def slot_of(milliseconds: float) -> int:
    return min(bisect_left(BOUNDS_MS, milliseconds), SLOTS - 1)


def quantile_ms(counts: Mapping[int, int], share: float) -> float | None:
    """The bound of the slot in which that share of all durations is reached; None for none."""
    wanted = share * sum(counts.values())
    reached = 0
    for slot in sorted(counts):
        reached += counts[slot]
        if reached and reached >= wanted:
            return BOUNDS_MS[slot]
    return None
