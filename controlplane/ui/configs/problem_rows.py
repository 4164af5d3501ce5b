"""Problems of a document as a list to read: where, what, why, and what to write instead.

Source: 04-controlplane-and-dashboard.md 2.4 and 2.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from controlplane.figures.numerals import plural
from controlplane.ui.configs.offsets import Offsets
from dataplane.core.config.problems import Edit, Problem
from dataplane.core.config.spelling import flow
from dataplane.core.config.tree import steps_of

SIGNS = {"error": ("alarm", "alarm"), "warning": ("watch", "watch"), "advice": ("info", "watch")}


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """start, end: UTF-16 offsets in the text, None where the problem has no place in it.

    fix: names the problem to the view that mends it, "" when nothing can be mended by itself.
    """

    number: int
    level: str
    severity: str
    icon: str
    tone: str
    place: str
    code: str
    message: str
    reason: str
    replacement: str
    suggestions: tuple[str, ...]
    start: int | None
    end: int | None
    fix: str
    fix_says: str


class Written(msgspec.Struct, frozen=True):
    text: str = ""
    edits: tuple[Edit, ...] = ()


class Suggested(msgspec.Struct, frozen=True):
    text: str


class Told(msgspec.Struct, frozen=True):
    """The part of a problem (04 §2.4) that a person reads.

    written: where its value was written, when that is another text than the one at hand.
    """

    code: str
    message: str
    severity: str = "error"
    path: str = ""
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    reason: str | None = None
    replacement: Written = Written()
    suggestions: tuple[Suggested, ...] = ()
    written: str = ""


def rows(
    problems: Iterable[Problem | Mapping[str, Any]], source: str = ""
) -> tuple[ProblemRow, ...]:
    """Of what the validator raised, or of the JSON objects that a version or a node keeps.

    source: the text that was checked, for the offsets.
    """
    offsets = Offsets(source)
    told = [msgspec.convert(msgspec.to_builtins(found), Told) for found in problems]
    return tuple(_row(number, found, offsets) for number, found in enumerate(told, 1))


def _row(number: int, told: Told, offsets: Offsets) -> ProblemRow:
    icon, tone = SIGNS.get(told.severity, SIGNS["error"])
    start, end = _range(told, offsets)
    return ProblemRow(
        number=number,
        level=told.severity if told.severity in SIGNS else "error",
        severity=told.severity.capitalize(),
        icon=icon,
        tone=tone,
        place=_place(told),
        code=told.code,
        message=told.message,
        reason=told.reason or "",
        replacement=told.replacement.text,
        suggestions=tuple(suggestion.text for suggestion in told.suggestions),
        start=start,
        end=end,
        fix=fix_name(told.code, told.path) if told.replacement.edits else "",
        fix_says=fix_says(told),
    )


def fix_name(code: str, path: str) -> str:
    """How a button names the problem that it mends, whatever moved in the text meanwhile."""
    return f"{code} {path}"


def fix_says(told: Told) -> str:
    """What a fix does, in the words of its edits: "delete line 6, add mask to pipeline"."""
    return ", ".join(_deed(edit, told) for edit in told.replacement.edits)


def _deed(edit: Edit, told: Told) -> str:
    key = (steps_of(edit.path) or ("",))[-1]
    if edit.op == "delete":
        name = "the entry" if key.isdigit() else key
        here = edit.path == told.path and told.line is not None
        return f"delete {name} on line {told.line}" if here else f"delete {name}"
    if edit.op == "insert_after":
        behind = f" behind {edit.anchor}" if edit.anchor else ""
        return f"add {edit.value} to {key}{behind}"
    if edit.op in ("rename", "move"):
        to = edit.to or ""
        return f"{edit.op} {key} to {'.'.join(steps_of(to)) if to.startswith('/') else to}"
    value = edit.value if isinstance(edit.value, str) else flow(edit.value, as_json=False)
    return f"write {value}" if key.isdigit() else f"set {key} to {value}"


def _range(told: Told, offsets: Offsets) -> tuple[int | None, int | None]:
    if told.line is None:
        return None, None
    start = offsets.at(told.line, told.column or 1)
    if told.end_line is None:
        return start, start
    return start, max(start, offsets.at(told.end_line, told.end_column or 1))


def _place(told: Told) -> str:
    """line:column as an editor counts them, or the path when the value comes from elsewhere."""
    if told.line is not None:
        return f"line {told.line}" + (f":{told.column}" if told.column else "")
    return told.written or told.path or "whole document"


def tally(listed: Iterable[ProblemRow]) -> str:
    """`2 errors, 1 piece of advice`, in the order in which they matter."""
    severities = [row.severity for row in listed]
    words = (("Error", "error", "errors"), ("Warning", "warning", "warnings"))
    counts = [
        plural(severities.count(name), one, many) for name, one, many in words if name in severities
    ]
    if "Advice" in severities:
        counts.append(plural(severities.count("Advice"), "piece of advice", "pieces of advice"))
    return ", ".join(counts) or "none"


def errors(listed: Iterable[ProblemRow]) -> int:
    return sum(row.level == "error" for row in listed)
