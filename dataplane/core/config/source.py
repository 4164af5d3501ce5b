"""A document's text with the places of everything in it, for edits that touch nothing else.

Offsets count code points from the start of the text; positions are those the parser gives.
Source: 04-controlplane-and-dashboard.md 2.4 and 2.10.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from dataplane.core.config.parse import parse
from dataplane.core.config.tree import (
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Span,
)

_LINE_END = re.compile(r"\r\n|\r|\n")
_COMMENT = re.compile(r"(?:(?<=\s)|(?<![^\r\n]))#[^\r\n]*")
_INDENT = 2


class EditError(ValueError):
    """An edit that cannot be made without touching something else; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a path names. entry: of a mapping, else item: of a list. parent holds it."""

    parent: MappingNode | SequenceNode
    entry: Entry | None = None
    item: Node | None = None

    @property
    def node(self) -> Node:
        node = self.entry.value if self.entry else self.item
        assert node is not None  # noqa: S101  one of the two is there
        return node


class Source:
    """A text that could be read; EditError for one that could not."""

    def __init__(self, text: str) -> None:
        parsed = parse(text)
        if parsed.tree is None and any(found.severity == "error" for found in parsed.problems):
            raise EditError("The document cannot be read, so nothing in it can be changed.")
        self.text = parsed.text
        self.bom = text[: len(text) - len(parsed.text)]
        self.tree = parsed.tree
        self.faults = len(parsed.problems)
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(self.text))]
        self.newline = "\r\n" if "\r\n" in self.text else "\n"

    def locate(self, steps: tuple[str, ...]) -> Place | None:
        """Where a path leads, None when it leads to nothing."""
        node: Node | None = self.tree
        place: Place | None = None
        for step in steps:
            place = _below(node, step)
            if place is None:
                return None
            self._refuse_alias(place)
            node = place.node
        return place

    def _refuse_alias(self, place: Place) -> None:
        """What an alias repeats stands elsewhere, and a change there would change both."""
        span, start = place.parent.span, _span_of(place)
        if span and start and (start.line, start.column) < (span.line, span.column):
            raise EditError("The value is repeated by an alias; write it out first.")

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column - 1

    def start(self, span: Span | None) -> int:
        assert span is not None  # noqa: S101  a text has positions
        return self.offset(span.line, span.column)

    def stop(self, span: Span | None) -> int:
        assert span is not None  # noqa: S101  a text has positions
        return self.offset(span.end_line, span.end_column)

    def end(self, node: Node) -> int:
        """Behind the last character of a value, without the line end of a block scalar."""
        if isinstance(node, MappingNode) and not node.flow and node.entries:
            last = [*node.entries, *node.repeats]
            return max(self.end(entry.value) for entry in last)
        if isinstance(node, SequenceNode) and not node.flow and node.items:
            return self.end(node.items[-1])
        start, stop = self.start(node.span), self.stop(node.span)
        return start + len(self.text[start:stop].rstrip())

    def line_start(self, offset: int) -> int:
        return self._starts[bisect_right(self._starts, offset) - 1]

    def line_stop(self, offset: int) -> int:
        """Before the line end of the line that holds an offset."""
        found = _LINE_END.search(self.text, offset)
        return found.start() if found else len(self.text)

    def next_line(self, offset: int) -> int:
        """The start of the line behind, or the end of the text."""
        found = _LINE_END.search(self.text, offset)
        return found.end() if found else len(self.text)

    def comments(self) -> list[tuple[int, str]]:
        """Every comment with its offset, in order."""
        spans = sorted(self._scalar_ranges(self.tree)) if self.tree else []
        starts = [start for start, _ in spans]
        found = []
        for match in _COMMENT.finditer(self.text):
            at = bisect_right(starts, match.start()) - 1
            if at < 0 or match.start() >= spans[at][1]:
                found.append((match.start(), match.group().rstrip()))
        return found

    def _scalar_ranges(self, node: Node) -> Iterator[tuple[int, int]]:
        if isinstance(node, MappingNode):
            for entry in (*node.entries, *node.repeats):
                yield self.start(entry.key_span), self.stop(entry.key_span)
                yield from self._scalar_ranges(entry.value)
        elif isinstance(node, SequenceNode):
            for item in node.items:
                yield from self._scalar_ranges(item)
        elif node.span:
            yield self.start(node.span), self.stop(node.span)

    @property
    def as_json(self) -> bool:
        """Whether keys are written in double quotes."""
        if self.tree is None or not self.tree.flow or not self.tree.entries:
            return False
        return self.text[self.start(self.tree.entries[0].key_span)] == '"'

    @property
    def step(self) -> int:
        """By how much the document indents a block."""
        return next(self._steps(self.tree), _INDENT) if self.tree else _INDENT

    def _steps(self, node: Node) -> Iterator[int]:
        for entry in node.entries if isinstance(node, MappingNode) and not node.flow else ():
            below = entry.value
            if isinstance(below, MappingNode) and not below.flow and below.span and entry.key_span:
                yield below.span.column - entry.key_span.column
                yield from self._steps(below)


def _below(node: Node | None, step: str) -> Place | None:
    if isinstance(node, MappingNode):
        entry = node.get(step)
        return Place(node, entry=entry) if entry else None
    if isinstance(node, SequenceNode) and step.isdecimal() and int(step) < len(node.items):
        return Place(node, item=node.items[int(step)])
    return None


def _span_of(place: Place) -> Span | None:
    return place.entry.key_span if place.entry else place.node.span


def is_empty(node: Node) -> bool:
    """`key:` with nothing behind it."""
    return isinstance(node, ScalarNode) and node.value is None and not node.quoted
