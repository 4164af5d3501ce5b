"""Positions in a text as the editor in a browser counts them: UTF-16 units from the start.

Source: 04-controlplane-and-dashboard.md 0.3 (positions), 06-stack.md 5.5.
"""

from __future__ import annotations


def utf16(text: str) -> int:
    """Length of the text in UTF-16 units."""
    return len(text) + sum(char > "\uffff" for char in text)


class Offsets:
    """Of one text with LF line ends."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + utf16(line) + 1)

    def at(self, line: int, column: int) -> int:
        """Of a 1-based line and column in code points; the nearest place that the text has."""
        index = min(max(line, 1), len(self._lines)) - 1
        before = self._lines[index][: max(column, 1) - 1]
        return self._starts[index] + utf16(before)
