"""A document's text as a positioned tree, and everything wrong with its syntax and structure.

YAML 1.2, core schema; JSON is a part of it. Whatever the bytes, the answer is a value: no
exception leaves `parse`, and an alias is counted before anybody walks what it expands to.
Source: 04-controlplane-and-dashboard.md 0.3, 2.3 and 2.5; 06-stack.md 1 (row 16).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from dataplane.core.config.compose import Composer
from dataplane.core.config.problems import MAX_PROBLEMS, Problem, problem
from dataplane.core.config.tree import MappingNode, Node, ScalarNode, SequenceNode, Span

MAX_BYTES = 256 * 1024
_NOT_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Parsed:
    """text: the decoded document. tree: None when it is empty or could not be read."""

    text: str
    tree: MappingNode | None
    problems: tuple[Problem, ...]


def parse(document: bytes | str) -> Parsed:
    """Read one document; problems hold the codes of the first table of 04 §2.5."""
    text, found = _decoded(document)
    if found:
        return Parsed(text, None, tuple(found))
    root, found = Composer(text).document()
    if root is None:
        return Parsed(text, None, tuple(found) or (problem("config.empty_document", (), None),))
    if not isinstance(root, MappingNode):
        return Parsed(text, None, (*found, _not_a_mapping(root)))
    return Parsed(text, root, tuple(found))


def position(text: str, start: int, end: int) -> Span:
    """Where the characters [start, end) of a text stand."""
    line, column, before = _line_and_column(text, start)
    end_line, end_column, _ = _line_and_column(text, end)
    return Span(
        line, column, len(before.encode("utf-16-le", "replace")) // 2 + 1, end_line, end_column
    )


def _line_and_column(text: str, index: int) -> tuple[int, int, str]:
    ends = [found.end() for found in _LINE_END.finditer(text, 0, index)]
    before = text[ends[-1] if ends else 0 : index]
    return len(ends) + 1, len(before) + 1, before


def _decoded(document: bytes | str) -> tuple[str, list[Problem]]:
    raw = document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document
    if len(raw) > MAX_BYTES:
        return "", [problem("config.too_large", (), None, size=len(raw), limit=MAX_BYTES)]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return "", [_not_utf8(raw, error.start)]
    text = text.removeprefix("\ufeff")
    return text, list(islice(_not_text(text), MAX_PROBLEMS))


def _not_utf8(raw: bytes, offset: int) -> Problem:
    before = raw[:offset].decode("utf-8").removeprefix("\ufeff")
    span = position(before, len(before), len(before))
    what = f"the byte 0x{raw[offset]:02x}, which is not UTF-8 here,"
    return problem("config.encoding", (), span, what=what, offset=offset)


def _not_text(text: str) -> Iterator[Problem]:
    for found in _NOT_TEXT.finditer(text):
        name = unicodedata.name(found.group(), "a control character")
        what = f"{name} (U+{ord(found.group()):04X})"
        offset = len(text[: found.start()].encode())
        span = position(text, found.start(), found.end())
        yield problem("config.encoding", (), span, what=what, offset=offset)


def _not_a_mapping(root: Node) -> Problem:
    actual = "a list" if isinstance(root, SequenceNode) else "a single value"
    if isinstance(root, ScalarNode) and root.value is None:
        return problem("config.empty_document", (), root.span)
    return problem("config.not_a_mapping", (), root.span, actual=actual)
