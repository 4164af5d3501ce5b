"""How many examples a property is tried with: as many as it is worth by day, far more at night."""

from __future__ import annotations

import hypothesis

ORDINARY = 100  # what a property that says nothing gets by day


def examples(by_day: int) -> hypothesis.settings:
    """So many in make check; in make nightly as many times more as every other property gets.

    A number given to settings alone would hold at night as well.
    """
    often = hypothesis.settings().max_examples
    return hypothesis.settings(max_examples=by_day * often // ORDINARY)
