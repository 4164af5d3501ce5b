"""The two kinds of names that are counted: why something was left alone, and what was done.

Source: 01-components.md 1.4; 07-house-style.md 5.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gate:
    """A named reason for which a component leaves a candidate, or a whole request, alone."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something a component did; never counted in the same series as a gate."""

    name: str
    meaning: str
    alert: bool = False
