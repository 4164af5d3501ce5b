"""The filter documents of cmdfilter: YAML inside a configuration, checked as strictly.

Source: 01-components.md 2.7, 04-controlplane-and-dashboard.md 2.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec

from dataplane.core.config.parse import parse
from dataplane.core.config.problems import Problem, of
from dataplane.core.config.regexes import compile_fault, slow_fault
from dataplane.core.config.registry import Key, block_of
from dataplane.core.config.tree import (
    Entry,
    MappingNode,
    ScalarNode,
    Span,
    scalars,
)
from dataplane.core.config.validate import validate
from dataplane.core.port.declaration import Remark, key

MAX_FILTERS = 200
MAX_FILTER_BYTES = 64 * 1024
_PATTERNS = {"match", "pattern", "unless", "strip_lines_matching", "keep_lines_matching"}
_TOP = {"schema_version", "filters", "tests"}
_NOWHERE = Span(1, 1, 1, 1, 1)
Place = tuple[int, int, str]


class Replacing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, key("What is replaced.")] = ""
    replacement: Annotated[str, key("What is put in its place.")] = ""


class Collapsing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, key("What the whole output must contain.")] = ""
    message: Annotated[str, key("What is left of it.")] = ""
    unless: Annotated[str, key("What it must not contain.")] = ""


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One filter: how it is recognised and what it drops."""

    match: Annotated[str, key("How the output is recognised.")] = ""
    description: Annotated[str, key("What it is for.")] = ""
    family: Annotated[str, key("What it is counted under.")] = "other"
    priority: Annotated[int, key("Higher comes first.", ge=-1000, le=1000)] = 0
    cap: (
        Annotated[
            Literal["errors", "warnings", "list", "inventory", "buildlog"], key("A size by name.")
        ]
        | None
    ) = None
    cap_reduce: Annotated[int, key("Lines less than the cap.", ge=0)] = 0
    strip_ansi: Annotated[bool, key("Drop colours first.")] = False
    replace: Annotated[list[Replacing], key("Replacements by line.")] = []
    match_output: Annotated[list[Collapsing], key("Outputs that become one line.")] = []
    strip_lines_matching: Annotated[list[str], key("Lines that are dropped.")] = []
    keep_lines_matching: Annotated[list[str], key("Lines that are kept.")] = []
    truncate_lines_at: Annotated[int, key("Longest line.", ge=1)] | None = None
    head_lines: Annotated[int, key("Lines kept from the start.", ge=0)] | None = None
    tail_lines: Annotated[int, key("Lines kept from the end.", ge=0)] | None = None
    max_lines: Annotated[int, key("Most lines.", ge=1)] | None = None
    on_empty: Annotated[str, key("What stands for an output that is all dropped.")] = ""


def remarks_on(filters: Sequence[str]) -> Iterator[Remark]:
    """What is wrong with the documents, in their order; names count across all of them."""
    size = sum(len(text.encode()) for text in filters)
    if size > MAX_FILTER_BYTES:
        yield _limit(f"{size:,} bytes", f"{MAX_FILTER_BYTES:,}")
        return
    seen: set[str] = set()
    for index, text in enumerate(filters):
        found = _Checked(seen)
        found.document(text)
        yield from found.remarks(f"filters.{index}")
    if len(seen) > MAX_FILTERS:
        yield _limit(f"{len(seen)} filters", str(MAX_FILTERS))


def _limit(count: str, limit: str) -> Remark:
    reason = "Every filter is tried on every output of a command."
    facts = {"what": "filters of cmdfilter", "count": count, "limit": limit, "reason": reason}
    return Remark("config.limit_exceeded", "filters", facts={**facts, "fix": "Remove filters."})


@dataclass(slots=True)
class _Checked:
    """The faults of one filter document, by code."""

    seen: set[str]
    invalid: list[Place] = field(default_factory=list)
    regex: list[Place] = field(default_factory=list)
    slow: list[Place] = field(default_factory=list)

    def remarks(self, at: str) -> Iterator[Remark]:
        for code, places in (
            ("config.filter_invalid", self.invalid),
            ("config.regex_invalid", self.regex),
            ("config.regex_too_slow", self.slow),
        ):
            if places:
                line, column, sentence = places[0]
                facts = {"what": sentence, "at": f"line {line}, column {column} of the filter"}
                yield Remark(code, at, facts=facts, inner=tuple(places))

    def document(self, text: str) -> None:
        parsed = parse(text)
        self._note(of("error", parsed.problems))
        if parsed.tree is None:
            if not self.invalid:
                self._at(None, "The filter document is empty.")
            return
        for entry in parsed.tree.entries:
            if entry.key not in _TOP:
                self._at(entry.key_span, f"A filter document has no key {entry.key}.")
        version = parsed.tree.get("schema_version")
        if version is None or getattr(version.value, "value", None) != 1:
            self._at(version.key_span if version else None, "schema_version must be 1.")
        self._definitions(parsed.tree.get("filters"))

    def _definitions(self, filters: Entry | None) -> None:
        if filters is None or not isinstance(filters.value, MappingNode):
            self._at(filters.key_span if filters else None, "filters must name filters.")
            return
        for entry in filters.value.entries:
            if entry.key in self.seen:
                self._at(entry.key_span, f"There are two filters named {entry.key}.")
            self.seen.add(entry.key)
            if isinstance(entry.value, MappingNode):
                self._definition(entry, entry.value)
            else:
                self._at(entry.key_span, f"{entry.key} must be a block of keys.")

    def _definition(self, entry: Entry, body: MappingNode) -> None:
        self._note(validate(body, _filter_keys()).problems)
        written = {found.key for found in body.entries}
        if "match" not in written:
            self._at(entry.key_span, f"{entry.key} has no match.")
        if {"strip_lines_matching", "keep_lines_matching"} <= written:
            self._at(entry.key_span, f"{entry.key} both strips and keeps lines.")
        if "cap_reduce" in written and "cap" not in written:
            self._at(entry.key_span, f"{entry.key} has cap_reduce without cap.")
        for path, node in scalars(body):
            if isinstance(node.value, str) and _PATTERNS & set(path):
                self._pattern(node, node.value)

    def _pattern(self, node: ScalarNode, pattern: str) -> None:
        if why := compile_fault(pattern):
            self._at(node.span, f"The expression does not compile: {why}.", self.regex)
        elif why := slow_fault(pattern):
            self._at(node.span, why, self.slow)

    def _note(self, problems: Sequence[Problem]) -> None:
        self.invalid += [(one.line or 1, one.column or 1, one.message) for one in problems]

    def _at(self, span: Span | None, sentence: str, to: list[Place] | None = None) -> None:
        at = span or _NOWHERE
        (self.invalid if to is None else to).append((at.line, at.column, sentence))


def _filter_keys() -> Key:
    return block_of(Filter)
