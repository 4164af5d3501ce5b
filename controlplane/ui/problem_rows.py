"""Problems of a document as a list to read: where, what, why, and what to write instead.

Source: 04-controlplane-and-dashboard.md sections 2.4 and 2.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from controlplane.ui.numerals import plural
from dataplane.core.config.problems import Problem

SIGNS = {"error": ("alarm", "alarm"), "warning": ("watch", "watch"), "advice": ("info", "watch")}


@dataclass(frozen=True, slots=True)
class ProblemRow:
    severity: str
    icon: str
    tone: str
    place: str
    code: str
    message: str
    reason: str
    replacement: str
    suggestions: tuple[str, ...]


class Text(msgspec.Struct, frozen=True):
    text: str = ""


class Told(msgspec.Struct, frozen=True):
    """The part of a problem (04 section 2.4) that a person reads."""

    code: str
    message: str
    severity: str = "error"
    path: str = ""
    line: int | None = None
    column: int | None = None
    reason: str | None = None
    replacement: Text = Text()
    suggestions: tuple[Text, ...] = ()


def rows(problems: Iterable[Problem | Mapping[str, Any]]) -> tuple[ProblemRow, ...]:
    """Of what the validator raised, or of the JSON objects that a version or a node keeps."""
    return tuple(_row(msgspec.convert(msgspec.to_builtins(found), Told)) for found in problems)


def _row(told: Told) -> ProblemRow:
    icon, tone = SIGNS.get(told.severity, SIGNS["error"])
    return ProblemRow(
        severity=told.severity.capitalize(),
        icon=icon,
        tone=tone,
        place=_place(told),
        code=told.code,
        message=told.message,
        reason=told.reason or "",
        replacement=told.replacement.text,
        suggestions=tuple(suggestion.text for suggestion in told.suggestions),
    )


def _place(told: Told) -> str:
    """line:column as an editor counts them, or the path when the value comes from elsewhere."""
    if told.line is not None:
        return f"line {told.line}:{told.column}"
    return told.path or "whole document"


def tally(listed: Iterable[ProblemRow]) -> str:
    """`2 errors, 1 advice`, in the order in which they matter."""
    severities = [row.severity for row in listed]
    words = (("Error", "error", "errors"), ("Warning", "warning", "warnings"))
    counts = [
        plural(severities.count(name), one, many) for name, one, many in words if name in severities
    ]
    if "Advice" in severities:
        counts.append(plural(severities.count("Advice"), "piece of advice", "pieces of advice"))
    return ", ".join(counts) or "none"
