"""A state as a chip: a word, a sign, and a tone that only repeats them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """A chip: its word, its sign, and the tone that repeats the word."""

    word: str
    icon: str
    tone: str
