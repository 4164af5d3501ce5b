"""Problems of a document as lines that editors and terminals can follow (04 section 4.9)."""

from __future__ import annotations

from collections.abc import Sequence

from dataplane.core.config.problems import Problem


def problems(found: Sequence[Problem], file: str) -> str:
    """One `file:line:column: severity[code]: message` each, with what to write instead."""
    return "\n".join(line(problem, file) for problem in found)


def line(found: Problem, file: str) -> str:
    place = ":".join(str(part) for part in (file, found.line or 1, found.column or 1))
    said = f"{place}: {found.severity}[{found.code}]: {found.message}"
    return " ".join(part for part in (said, found.reason, found.replacement.text) if part)
