"""Problems of a document as people read them in a terminal (04 §2.9, 4.9)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from dataplane.core.config.problems import Problem

INDENT = "    "
TAB = "\t"
WIDEST = 200  # characters of a line; of a longer one the part around the place is shown
_LINE_END = re.compile(r"\r\n|\r|\n")  # those that the parser counts
COLOURS = {"error": "\x1b[31m", "warning": "\x1b[33m", "advice": "\x1b[36m"}
PLAIN = "\x1b[0m"


def problems(found: Sequence[Problem], file: str, source: str = "", *, colour: bool = False) -> str:
    """Each with its place, the line it is about, a caret, the reason and what to write instead."""
    lines = _LINE_END.split(source)
    said = (part for one in found for part in parts(one, file, lines, colour=colour))
    return "\n".join(said)


def parts(
    found: Problem, file: str, lines: Sequence[str] = (), *, colour: bool = False
) -> Iterator[str]:
    what = f"{found.severity}[{found.code}]"
    what = f"{COLOURS[found.severity]}{what}{PLAIN}" if colour else what
    yield f"{place(found, file)}: {what}: {found.message}"
    if found.line is not None and found.line <= len(lines):
        yield from pointed(found, lines[found.line - 1])
    if found.reason:
        yield f"{INDENT}reason: {found.reason}"
    if found.replacement.text:
        yield f"{INDENT}fix: {found.replacement.text}"


def place(found: Problem, file: str) -> str:
    """What an editor or a terminal follows; a value from another layer names that layer."""
    if found.line is None and found.document is not None and found.document.layer == "preset":
        return f"{file}:1:1 ({found.document})"
    return f"{file}:{found.line or 1}:{found.column or 1}"


def pointed(found: Problem, line: str) -> Iterator[str]:
    """The line and a caret below what is meant; tabs stay, so that the caret stands right."""
    start = (found.column or 1) - 1
    one_line = found.end_line == found.line and found.end_column is not None
    end = (found.end_column or 1) - 1 if one_line else len(line)
    first = max(0, start - WIDEST // 4) if len(line) > WIDEST else 0
    last = first + WIDEST
    cut = "…" if first else ""
    before = "".join(TAB if char == TAB else " " * cells(char) for char in cut + line[first:start])
    carets = sum(map(cells, line[start : min(end, last)]))
    yield f"{INDENT}{cut}{line[first:last]}{'…' if last < len(line) else ''}"
    yield f"{INDENT}{before}{'^' * max(1, carets)}"


def cells(char: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
