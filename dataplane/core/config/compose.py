"""From the parser's events to a tree: keys, tags, aliases and their limits.

Source: 04-controlplane-and-dashboard.md 2.3 and 2.5.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Any

from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from dataplane.core.config.problems import Edit, Problem, problem, with_edits
from dataplane.core.config.scalars import kind_of, resolve
from dataplane.core.config.syntax import in_plain_words
from dataplane.core.config.tree import (
    MAX_DEPTH,
    Entry,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    Span,
)
from dataplane.core.text.secrets import shown

MAX_NODES = 20_000
MAX_ALIASES = 1_000
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = ("str", "int", "float", "bool", "null")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
# The parser takes these for line ends, as YAML 1.1 did; in YAML 1.2 they are ordinary text.
_OLD_LINE_ENDS = "\x85\u2028\u2029"
_PRIVATE_USE = range(0xE000, 0xF900)


class _UnreadableError(Exception):
    """Nothing further can be read; the problem has been noted."""


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A node that aliases may repeat, and what one repetition costs."""

    node: Node
    nodes: int
    aliases: int
    height: int


class Composer:
    """Reads the first document of a text into a tree."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = re.split("\r\n|\r|\n", text)
        self._is_ascii = text.isascii()
        self._stand_ins = _stand_ins(text)
        self._parser: Any = CParser(text.translate(self._stand_ins))
        self._restored = {new: old for old, new in self._stand_ins.items()}
        self._problems: list[Problem] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._nodes = 0
        self._aliases = 0

    def document(self) -> tuple[Node | None, list[Problem]]:
        """The root node, None when there is none or it could not be read to its end."""
        root: Node | None = None
        try:
            self._next()
            if self._parser.check_event(DocumentStartEvent):
                self._next()
                root, _ = self._node(self._next(), (), 1)
                self._next()
            if self._parser.check_event(DocumentStartEvent):
                self._second_document(self._next())
        except YAMLError as error:
            root = None
            self._problems.append(self._syntax(error))
        except _UnreadableError:
            root = None
        return root, self._problems

    def _next(self) -> Any:
        return self._parser.get_event()

    def _node(self, event: Any, path: Path, depth: int) -> tuple[Node, int]:
        """One node and how many levels it has."""
        if isinstance(event, AliasEvent):
            return self._alias(event, path, depth)
        self._count(event, path, nodes=1)
        before = self._nodes, self._aliases
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node, height = self._content(event, path, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(
                node, 1 + self._nodes - before[0], self._aliases - before[1], height
            )
        return node, height

    def _content(self, event: Any, path: Path, depth: int) -> tuple[Node, int]:
        if isinstance(event, ScalarEvent):
            return self._scalar(event, path), 0
        self._refuse_depth(event, path, depth)
        if event.tag not in (None, "!", _CORE + ("map" if _is_mapping(event) else "seq")):
            self._tag(event, path)
        if _is_mapping(event):
            return self._mapping(event, path, depth)
        return self._sequence(event, path, depth)

    def _mapping(self, event: Any, path: Path, depth: int) -> tuple[Node, int]:
        entries: dict[str, Entry] = {}
        repeats: list[Entry] = []
        height = 0
        while not isinstance(at := self._next(), MappingEndEvent):
            key, below = self._key(at, path, depth)
            step = key.key if key else "?"
            value, tall = self._node(self._next(), (*path, step), depth + 1)
            height = max(height, tall, below)
            if key is None:
                continue
            name = unicodedata.normalize("NFC", key.key)
            if name in entries:
                self._duplicate(entries[name], key, path)
                repeats.append(Entry(key.key, key.key_span, value))
            else:
                entries[name] = Entry(key.key, key.key_span, value)
        span, flow = self._extent(event, at)
        node = MappingNode(tuple(entries.values()), span, flow, tuple(repeats))
        return node, height + 1

    def _sequence(self, event: Any, path: Path, depth: int) -> tuple[Node, int]:
        items: list[Node] = []
        height = 0
        while not isinstance(at := self._next(), SequenceEndEvent):
            item, tall = self._node(at, (*path, len(items)), depth + 1)
            items.append(item)
            height = max(height, tall)
        span, flow = self._extent(event, at)
        return SequenceNode(tuple(items), span, flow), height + 1

    def _key(self, event: Any, path: Path, depth: int) -> tuple[Entry | None, int]:
        """The key without its value; None when it is refused."""
        node, height = self._node(event, path, depth + 1)
        span = self._span(event)
        if not isinstance(node, ScalarNode):
            kind = "a block" if isinstance(node, MappingNode) else "a list"
            facts = {"shown": "This", "actual": kind, "fix": "Write the key as plain text."}
            self._note(problem("config.non_string_key", path, span, **facts))
            return None, height
        merges = node.value == "<<" and not node.quoted
        if merges or (isinstance(event, ScalarEvent) and event.tag == _CORE + "merge"):
            self._note(problem("config.merge_key", (*path, "<<"), span))
            return None, height
        if not isinstance(node.value, str):
            self._not_text(event, node, path)
            return None, height
        return Entry(node.value, span, node), height

    def _not_text(self, event: Any, node: ScalarNode, path: Path) -> None:
        written = str(shown(getattr(event, "value", None) or "An empty key"))
        names = {"null": "nothing", "bool": "true or false"}
        kind = names.get(kind_of(node.value), "a number")
        fix = f'If it is meant as a name, put it in quotes: "{written}".'
        facts = {"shown": written, "actual": kind, "fix": fix}
        self._note(problem("config.non_string_key", (*path, written), self._span(event), **facts))

    def _scalar(self, event: Any, path: Path) -> ScalarNode:
        text: str = event.value.translate(self._restored)
        span = self._span(event)
        if _CONTROL.search(text):
            what = "an escaped control character"
            offset = len(self._text[: event.start_mark.index].encode())
            self._note(problem("config.encoding", path, span, what=what, offset=offset))
        plain = event.implicit[0]
        if event.tag is None:
            return ScalarNode(resolve(text) if plain else text, span, quoted=not plain)
        if event.tag in ("!", _CORE + "str"):
            return ScalarNode(text, span, quoted=True)
        value = resolve(text)
        if event.tag == _CORE + "float" and kind_of(value) == "int":
            value = float(value or 0)
        if event.tag != _CORE + kind_of(value) and event.tag != _CORE + "merge":
            self._tag(event, path)
        return ScalarNode(value, span)

    def _alias(self, event: Any, path: Path, depth: int) -> tuple[Node, int]:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            inside = event.anchor in self._anchors
            what = f"the alias *{shown(event.anchor)} " + (
                "stands inside the value it repeats" if inside else "repeats nothing above it"
            )
            self._note(
                problem(
                    "config.syntax", path, self._span(event), what=what, fix="Write the value out."
                )
            )
            raise _UnreadableError
        self._count(event, path, nodes=anchored.nodes, aliases=1 + anchored.aliases)
        self._refuse_depth(event, path, depth + anchored.height - 1)
        return _moved(anchored.node, self._span(event)), anchored.height

    def _count(self, event: Any, path: Path, *, nodes: int, aliases: int = 0) -> None:
        self._nodes += nodes
        self._aliases += aliases
        for count, limit, what in (
            (self._nodes, MAX_NODES, "values"),
            (self._aliases, MAX_ALIASES, "alias expansions"),
        ):
            if count > limit:
                self._note(
                    problem(
                        "config.too_many_nodes", path, self._span(event), limit=limit, what=what
                    )
                )
                raise _UnreadableError

    def _refuse_depth(self, event: Any, path: Path, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._note(problem("config.too_deep", path, self._span(event), limit=MAX_DEPTH))
            raise _UnreadableError

    def _duplicate(self, first: Entry, second: Entry, path: Path) -> None:
        at = (*path, second.key)
        facts = {"key": shown(second.key), "first": _at(first), "second": _at(second)}
        found = problem("config.duplicate_key", at, second.key_span, **facts)
        edit = Edit("delete", found.path, anchor=_at(second))
        self._note(with_edits(found, "delete", edit))

    def _tag(self, event: Any, path: Path) -> None:
        name = event.tag.removeprefix(_CORE)
        core = event.tag.startswith(_CORE)
        what = "does not fit this value" if core and name in _SCALAR_TAGS else "is not supported"
        written = shown(("!!" + name) if core else name)
        self._note(
            problem("config.unsupported_tag", path, self._span(event), tag=written, what=what)
        )

    def _second_document(self, event: Any) -> None:
        self._note(problem("config.multiple_documents", (), self._span(event)))

    def _syntax(self, error: Any) -> Problem:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line, column = (mark.line, mark.column) if mark else (0, 0)
        text = self._lines[line] if line < len(self._lines) else ""
        what, fix = in_plain_words(error, text[column : column + 1])
        return problem("config.syntax", (), self._at(line, column), what=what, fix=fix)

    def _note(self, found: Problem) -> None:
        self._problems.append(found)

    def _span(self, event: Any) -> Span:
        start, end = event.start_mark, event.end_mark
        utf16 = self._utf16(start.line, start.column)
        return Span(start.line + 1, start.column + 1, utf16, end.line + 1, end.column + 1)

    def _extent(self, first: Any, last: Any) -> tuple[Span, bool]:
        """Where a collection stands, and whether it is written in brackets.

        Of one without brackets only the beginning is known: the parser's last event stands
        behind the comments that follow it.
        """
        span, end = self._span(first), last.end_mark
        if not first.flow_style:
            return span, False
        return replace(span, end_line=end.line + 1, end_column=end.column + 1), True

    def _at(self, line: int, column: int) -> Span:
        return Span(line + 1, column + 1, self._utf16(line, column), line + 1, column + 1)

    def _utf16(self, line: int, column: int) -> int:
        if self._is_ascii or line >= len(self._lines):
            return column + 1
        return len(self._lines[line][:column].encode("utf-16-le")) // 2 + 1


def _is_mapping(event: CollectionStartEvent) -> bool:
    return isinstance(event, MappingStartEvent)


def _at(entry: Entry) -> str:
    span = entry.key_span
    return f"line {span.line}, column {span.column}" if span else "an unknown place"


def _moved(node: Node, span: Span) -> Node:
    """The same content, standing where its alias stands."""
    if isinstance(node, ScalarNode):
        return ScalarNode(node.value, span, node.quoted)
    if isinstance(node, SequenceNode):
        return SequenceNode(node.items, span, flow=True)
    return MappingNode(node.entries, span, flow=True)


def _stand_ins(text: str) -> dict[int, int]:
    """Characters that the text does not use, for those the parser would take for line ends."""
    wanted = [ord(char) for char in _OLD_LINE_ENDS if char in text]
    if not wanted:
        return {}
    free = (code for code in _PRIVATE_USE if chr(code) not in text)
    return dict(zip(wanted, free, strict=False))
