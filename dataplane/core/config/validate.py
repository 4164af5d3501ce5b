"""Every problem of one document on its own, and the values that are right.

The walk never stops at an error: what is wrong is reported, what is right becomes a leaf, so
that the rules across keys can be checked in the same pass.
Source: 04-controlplane-and-dashboard.md 2.4 to 2.8; 01-components.md 1.14, 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from dataplane.core.config.problems import (
    MAX_PROBLEMS,
    Edit,
    Problem,
    Suggestion,
    problem,
    with_edits,
)
from dataplane.core.config.refusing import refusal
from dataplane.core.config.registry import Key, below
from dataplane.core.config.suggest import nearest
from dataplane.core.config.tree import (
    Entry,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    Span,
    pointer,
    spoken,
)
from dataplane.core.config.unknown import Unknown
from dataplane.core.config.values import Misfit, fit
from dataplane.core.port.declaration import Refusal
from dataplane.core.text.secrets import HIDDEN, is_credential, shown

MAX_PIPELINE = 40
_NAME_IT = "Store it as a secret and write secret:NAME here."
_NAME_ALONE = "Write the component's name alone; its keys go below components."
_ABOVE = {"/cache/keepalive_idle_seconds": "config.keepalive_idle_too_long"}


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list: its index as written."""

    index: int
    span: Span | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """One written value of the right type. items: where the entries of a list stand, those
    that are wrong left out.
    """

    value: Any
    key_span: Span | None
    span: Span | None
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Validated:
    """leaves: by path. blocks: where each component's block stands, by name."""

    leaves: dict[Path, Leaf]
    blocks: dict[str, Span | None]
    problems: list[Problem]


def validate(tree: MappingNode, root: Key) -> Validated:
    """Check a tree against the registry; root: registry.registry(components)."""
    walk = _Walk(root, Unknown(root, tree))
    walk.block(tree, root, ())
    return Validated(walk.leaves, walk.blocks, walk.problems)


@dataclass(slots=True)
class _Walk:
    root: Key
    unknown: Unknown
    leaves: dict[Path, Leaf] = field(default_factory=dict)
    blocks: dict[str, Span | None] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def block(self, node: MappingNode, block: Key, path: Path) -> None:
        for entry in node.entries:
            if len(self.problems) > MAX_PROBLEMS:
                return  # more would not be shown, and finding them would take time
            self._entry(entry, block, (*path, entry.key))

    def _entry(self, entry: Entry, block: Key, path: Path) -> None:
        found = block.fields.get(entry.key)
        if found and path[:-1] == ("components",):
            self.blocks[entry.key] = entry.key_span
        if entry.key in block.refusals or (not found and below(block.refusals, entry.key)):
            self.problems += _refused(entry, block.refusals, path, self.unknown)
        elif found is None:
            self.problems.append(self.unknown.problem(entry, block, path))
        elif found.kind == "block":
            self._block_value(entry, found, path)
        else:
            self._leaf(entry, found, path)

    def _block_value(self, entry: Entry, block: Key, path: Path) -> None:
        node = entry.value
        if isinstance(node, ScalarNode) and node.value is None:
            return
        if path[:-1] == ("components",) and not block.fields and not block.refusals:
            self._takes_nothing(entry, path)
        elif isinstance(node, MappingNode):
            self.block(node, block, path)
        else:
            misfit = fit(node, block, spoken(path))
            self.problems.append(_misfit(misfit, entry, path, block))

    def _takes_nothing(self, entry: Entry, path: Path) -> None:
        if isinstance(entry.value, MappingNode) and not entry.value.entries:
            return
        facts = {"component": entry.key}
        found = problem("config.component_takes_no_config", path, entry.key_span, **facts)
        self.problems.append(with_edits(found, "delete", Edit("delete", found.path)))

    def _leaf(self, entry: Entry, key: Key, path: Path) -> None:
        value = fit(entry.value, key, spoken(path))
        if isinstance(value, Misfit):
            if value.code != "config.inline_secret" or not _is_recognised(entry.value):
                self.problems.append(_misfit(value, entry, path, key))
        elif isinstance(value, SequenceNode):
            self._list(value, key, path, entry)
        else:
            self.leaves[path] = Leaf(value, entry.key_span, _span(entry))
        if key.deprecated and path in self.leaves:
            self.problems.append(self._deprecated(entry, key, path))

    def _deprecated(self, entry: Entry, key: Key, path: Path) -> Problem:
        """The key still counts; its fix moves it, unless the new one is written as well."""
        to = (*path[:2], *key.deprecated.split("."))
        facts = {"name": spoken(path), "instead": key.deprecated}
        found = problem("config.deprecated_key", path, entry.key_span, **facts)
        if self.unknown.is_written(to):
            return with_edits(found, "delete", Edit("delete", found.path))
        return with_edits(found, "move", Edit("move", found.path, to=pointer(to)))

    def _list(self, node: SequenceNode, key: Key, path: Path, entry: Entry) -> None:
        values: list[Any] = []
        items: list[Item] = []
        is_pipeline = path == ("pipeline",)
        for index, item in enumerate(self._short(node) if is_pipeline else node.items):
            value = fit(item, key.item or key, f"entry {index + 1} of {spoken(path)}")
            if isinstance(value, Misfit):
                found = _misfit(value, Entry("", item.span, item), (*path, index), key)
                if is_pipeline and isinstance(item, MappingNode):
                    found = with_edits(found, "none", text=_NAME_ALONE)
                self.problems.append(found)
            elif isinstance(value, MappingNode):
                values.append(self._inner(value, key.item or key, (*path, index)))
                items.append(Item(index, item.span))
            elif not is_pipeline or self._is_component(
                value, Item(index, item.span), items, values
            ):
                values.append(value)
                items.append(Item(index, item.span))
        self.leaves[path] = Leaf(values, entry.key_span, entry.value.span, tuple(items))

    def _inner(self, node: MappingNode, block: Key, path: Path) -> dict[str, Any]:
        """A block inside a list: its keys are checked, and the whole list stays one leaf."""
        walk = _Walk(self.root, self.unknown)
        walk.block(node, block, path)
        self.problems += walk.problems
        return {str(at[-1]): leaf.value for at, leaf in walk.leaves.items()}

    def _short(self, pipeline: SequenceNode) -> tuple[Node, ...]:
        """The entries to look at: of a pipeline that is too long, the first only."""
        if len(pipeline.items) > MAX_PIPELINE:
            facts = {"what": "pipeline", "count": f"{len(pipeline.items)} entries"}
            facts |= {"limit": str(MAX_PIPELINE), "reason": "Every entry runs on every request."}
            facts |= {"fix": "Shorten the pipeline."}
            found = problem("config.limit_exceeded", ("pipeline",), pipeline.span, **facts)
            self.problems.append(found)
        return pipeline.items[:MAX_PIPELINE]

    def _is_component(self, name: str, at: Item, before: list[Item], names: list[str]) -> bool:
        """True when this entry of the pipeline names a component that did not come before."""
        path: Path = ("pipeline", at.index)
        if name not in self.root.fields["components"].fields:
            entry = Entry(name, at.span, ScalarNode(name, at.span))
            self.problems.append(self.unknown.component(entry, path))
            return False
        if name in names:
            first = before[names.index(name)].index
            self.problems.append(_twice(name, first, at.index, at.span))
            return False
        return True


def _is_recognised(node: Node) -> bool:
    """A credential by its looks, which is reported wherever it stands (04 §2.5)."""
    return isinstance(node, ScalarNode) and is_credential(str(node.value))


def _twice(name: str, first: int, second: int, span: Span | None) -> Problem:
    path: Path = ("pipeline", second)
    facts = {"component": name, "first": first + 1, "second": second + 1}
    found = problem("config.duplicate_component", path, span, **facts)
    found = replace(found, component=name, value=name)
    return with_edits(found, "delete", Edit("delete", found.path))


def _misfit(misfit: Misfit, entry: Entry, path: Path, key: Key) -> Problem:
    at = pointer(path)
    code = _ABOVE.get(at, misfit.code) if misfit.code == "config.above_max" else misfit.code
    value = entry.value.value if isinstance(entry.value, ScalarNode) else None
    facts = dict(misfit.facts)
    if key.secret:
        value, facts = HIDDEN, {**facts, "actual": HIDDEN, "fix": ""}
    found = problem(code, path, _span(entry), **facts)
    found = replace(found, value=shown(value), expected=misfit.expected)
    if misfit.code == "config.null_value":
        return with_edits(found, "delete", Edit("delete", at))
    if misfit.code == "config.not_in_enum":
        return _nearest_choice(found, key, value)
    if code == "config.inline_secret":
        return with_edits(found, "none", text=f"{found.replacement.text} {_NAME_IT}")
    if misfit.better is not None and not key.secret:
        return with_edits(found, "set", Edit("set", at, value=misfit.better))
    return found


def _nearest_choice(found: Problem, key: Key, value: object) -> Problem:
    meant = {True: "on", False: "off"}.get(value) if isinstance(value, bool) else str(value)
    near = nearest(meant, map(str, key.choices)) if meant else []
    if not near:
        return found
    suggestions = tuple(Suggestion(choice, found.path) for choice in near)
    found = replace(found, suggestions=suggestions)
    text = f"Did you mean {near[0]}? {found.replacement.text}"
    return with_edits(found, "set", Edit("set", found.path, value=near[0]), text=text)


def _refused(
    entry: Entry, refusals: Mapping[str, Refusal], path: Path, unknown: Unknown
) -> Iterator[Problem]:
    """The most exact refusals that apply: of the keys inside where there are such, else its own."""
    deeper = below(refusals, entry.key)
    inside = entry.value.entries if isinstance(entry.value, MappingNode) else ()
    named = [sub for sub in inside if sub.key in deeper or below(deeper, sub.key)]
    for sub in named:
        for found in _refused(sub, deeper, (*path, sub.key), unknown):
            yield _whole(found, path) if len(inside) == 1 else found
    own = refusals.get(entry.key) or next(iter(deeper.values()))
    if not named or (len(named) < len(inside) and entry.key in refusals):
        yield refusal(own, entry, path, unknown)


def _whole(found: Problem, path: Path) -> Problem:
    """The same problem, whose fix deletes the block too that would be left empty."""
    old = found.replacement
    edits = tuple(
        replace(edit, path=pointer(path))
        if edit.op == "delete" and edit.path == found.path
        else edit
        for edit in old.edits
    )
    moves = any(edit.op == "move" for edit in old.edits)
    tidy = (Edit("delete", pointer(path)),) if moves else ()
    return replace(found, replacement=replace(old, edits=edits + tidy))


def _span(entry: Entry) -> Span | None:
    """Where the value stands; a value that is not there is shown at its key."""
    span = entry.value.span
    nothing = isinstance(entry.value, ScalarNode) and entry.value.value is None
    return entry.key_span if nothing and entry.key_span else span
