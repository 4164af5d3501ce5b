"""A document as it was written: nodes with their positions, and the paths that name them.

Lines and columns are 1-based; `column` counts code points, `column_utf16` UTF-16 units. A tree
that was made from values (a node's JSON document) has no positions: its spans are None.
Source: 04-controlplane-and-dashboard.md 0.3 and 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 20
Path = tuple[str | int, ...]
ScalarValue = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Span:
    """Where a token stands; end_column is the column after its last character."""

    line: int
    column: int
    column_utf16: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class ScalarNode:
    value: ScalarValue
    span: Span | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """flow: written in brackets; then the span reaches to the closing one."""

    items: tuple[Node, ...]
    span: Span | None = None
    flow: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    key_span: Span | None
    value: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    """flow as of SequenceNode. repeats: entries whose key stood there before."""

    entries: tuple[Entry, ...]
    span: Span | None = None
    flow: bool = False
    repeats: tuple[Entry, ...] = ()

    def get(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)


Node = ScalarNode | SequenceNode | MappingNode


def pointer(path: Path) -> str:
    """RFC 6901: "" for the document, else "/" before each step."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def steps_of(path: str) -> tuple[str, ...]:
    """The steps of an RFC 6901 pointer, all as text."""
    steps = path.split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def spoken(path: Path) -> str:
    """How a sentence names a key: "keep_recent of mask", "store.ttl_seconds"."""
    steps = [str(step) for step in path]
    if len(steps) > 2 and steps[0] == "components":  # noqa: PLR2004  components, name, key
        return f"{'.'.join(steps[2:])} of {steps[1]}"
    if len(steps) == 2 and steps[0] == "components":  # noqa: PLR2004  components, name
        return steps[1]
    return ".".join(steps)


def scalars(node: Node, path: Path = ()) -> Iterator[tuple[Path, ScalarNode]]:
    """Every scalar value with its path, in document order."""
    if isinstance(node, MappingNode):
        for entry in node.entries:
            yield from scalars(entry.value, (*path, entry.key))
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield from scalars(item, (*path, index))
    else:
        yield path, node


class TooDeepError(ValueError):
    """A value is nested more than MAX_DEPTH levels deep."""


def from_values(value: Any, depth: int = 1) -> Node:
    """The tree of a JSON value: dict, list, str, int, float, bool or None. TooDeepError."""
    if depth > MAX_DEPTH + 1:
        raise TooDeepError
    if isinstance(value, Mapping):
        below = ((str(key), from_values(item, depth + 1)) for key, item in value.items())
        return MappingNode(tuple(Entry(key, None, node) for key, node in below))
    if isinstance(value, list | tuple):
        return SequenceNode(tuple(from_values(item, depth + 1) for item in value))
    if value is None or isinstance(value, str | int | float):
        return ScalarNode(value, quoted=isinstance(value, str))
    raise TypeError(f"a document holds JSON values, not {type(value).__name__}")


def to_values(node: Node) -> Any:
    """The plain JSON value of a tree."""
    if isinstance(node, MappingNode):
        return {entry.key: to_values(entry.value) for entry in node.entries}
    if isinstance(node, SequenceNode):
        return [to_values(item) for item in node.items]
    return node.value
