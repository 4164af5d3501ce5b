"""Names that nothing knows, and what was probably meant (04 §2.4, did-you-mean)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from dataplane.core.config.problems import Edit, Problem, Suggestion, problem, with_edits
from dataplane.core.config.registry import Key
from dataplane.core.config.suggest import LIMIT, nearest
from dataplane.core.config.tree import Entry, MappingNode, Path, pointer
from dataplane.core.text.secrets import shown


@dataclass(frozen=True, slots=True)
class Unknown:
    """Words problems about unknown keys and components of one document."""

    root: Key
    tree: MappingNode

    def problem(self, entry: Entry, block: Key, path: Path) -> Problem:
        """config.unknown_key, or config.unknown_component for a block under `components`."""
        if path[:-1] == ("components",):
            return self.component(entry, path)
        refused = [name for name in block.refusals if "." not in name]
        near = nearest(entry.key, [*block.fields, *refused])
        elsewhere = self._elsewhere(entry.key, path)
        note = ""
        if near and near[0] in refused:
            note = f" The nearest key, {near[0]}, is refused here: {block.refusals[near[0]].reason}"
        facts = {
            "where": _where(path),
            "key": shown(entry.key),
            "note": note,
            "reason": f"Accepted here: {', '.join(block.fields) or 'nothing'}.",
            "fix": _fix(near if not note else [], elsewhere),
        }
        found = problem("config.unknown_key", path, entry.key_span, **facts)
        return self._suggesting(found, path, near, elsewhere, may_edit=not note)

    def component(self, entry: Entry, path: Path) -> Problem:
        """A name that is no component, in the pipeline or under `components`."""
        known = self.root.fields["components"].fields
        near = nearest(entry.key, known)
        elsewhere = [] if path[0] == "pipeline" else self._elsewhere(entry.key, path)
        facts = {
            "name": shown(entry.key),
            "known": ", ".join(known) or "none",
            "fix": _fix(near, elsewhere),
        }
        found = problem("config.unknown_component", path, entry.key_span, **facts)
        found = replace(found, component=str(shown(entry.key)), value=shown(entry.key))
        return self._suggesting(found, path, near, elsewhere, may_edit=True)

    def _suggesting(
        self, found: Problem, path: Path, near: list[str], elsewhere: list[Path], *, may_edit: bool
    ) -> Problem:
        spelled = [Suggestion(name, pointer((*path[:-1], name))) for name in near]
        moved = [Suggestion(str(to[-1]), pointer(to), "misplaced") for to in elsewhere]
        if path[0] == "pipeline":
            spelled = [Suggestion(name, found.path) for name in near]
        found = replace(found, suggestions=tuple([*spelled, *moved][:LIMIT]))
        if not may_edit:
            return found
        if near and path[0] == "pipeline":
            return with_edits(found, "set", Edit("set", found.path, value=near[0]))
        if near and not self.is_written((*path[:-1], near[0])):
            return with_edits(found, "rename", Edit("rename", found.path, to=near[0]))
        if len(elsewhere) == 1 and not near and not self.is_written(elsewhere[0]):
            return with_edits(found, "move", Edit("move", found.path, to=pointer(elsewhere[0])))
        return found

    def _elsewhere(self, name: str, path: Path) -> list[Path]:
        """Where the same name is legal; blocks that the document already has come first."""
        places = [to for to in _places(self.root, name) if to != path]
        return sorted(places, key=lambda to: not self.is_written(to[:-1]))[:LIMIT]

    def is_written(self, path: Path) -> bool:
        """Whether the document has something at this path."""
        node: object = self.tree
        for step in path:
            entry = node.get(str(step)) if isinstance(node, MappingNode) else None
            if entry is None:
                return False
            node = entry.value
        return True


def _places(block: Key, name: str, path: Path = ()) -> Iterator[Path]:
    for key, found in block.fields.items():
        if key == name:
            yield (*path, key)
        yield from _places(found, name, (*path, key))


def _where(path: Path) -> str:
    if len(path) == 1:
        return "The document"
    steps = path[1:-1] if path[0] == "components" else path[:-1]
    return ".".join(str(step) for step in steps)


def _fix(near: list[str], elsewhere: list[Path]) -> str:
    if near:
        return f"Did you mean {near[0]}?"
    if elsewhere:
        places = " or ".join(_home(place) for place in elsewhere)
        return f"It is a key of {places}: check the indentation."
    return "Delete it."


def _home(place: Path) -> str:
    return ".".join(str(step) for step in place[:-1]) or "the top level"
