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


def rows(problems: Iterable[Problem | Mapping[str, Any]]) -> tuple[ProblemRow, ...]:
    """Of what the validator raised, or of the JSON objects that a version or a node keeps."""
    return tuple(_row(found) for found in problems)


def _row(found: Problem | Mapping[str, Any]) -> ProblemRow:
    problem = found if isinstance(found, Problem) else msgspec.convert(found, Problem)
    icon, tone = SIGNS[problem.severity]
    return ProblemRow(
        severity=problem.severity.capitalize(),
        icon=icon,
        tone=tone,
        place=_place(problem),
        code=problem.code,
        message=problem.message,
        reason=problem.reason or "",
        replacement=problem.replacement.text,
        suggestions=tuple(suggestion.text for suggestion in problem.suggestions),
    )


def _place(problem: Problem) -> str:
    """line:column as an editor counts them, or the path when the value comes from elsewhere."""
    if problem.line is not None:
        return f"line {problem.line}:{problem.column}"
    return problem.path or "whole document"


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
