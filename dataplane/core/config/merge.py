"""The merged document as the rules that look at several keys see it.

A problem is positioned where the document under check wrote the value; when another layer or a
default did, it has no position and names that layer. Source: 04 §2.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec.structs import replace

from dataplane.core.config.problems import DocumentRef, Problem, problem
from dataplane.core.config.registry import component_block
from dataplane.core.config.resolve import DEFAULT, Effective, Placed
from dataplane.core.config.tree import Path, Span, pointer
from dataplane.core.port.declaration import Declaration


@dataclass(frozen=True, slots=True)
class Merge:
    """What the rules see. checked: the document whose lines may be named; blocks: where its
    component blocks stand. caching_upstream: the tenant's provider keeps a prompt cache.
    wrong: the paths of what is in error already, about which nothing more is said. naming: where
    the preset is named that is in force. one_way: what policy makes of markers that keep nothing.
    """

    written: Mapping[Path, Placed]
    effective: Effective
    components: Mapping[str, Declaration]
    checked: DocumentRef
    blocks: Mapping[str, Span | None]
    caching_upstream: bool
    wrong: frozenset[str]
    naming: Placed | None = None
    one_way: Literal["ack", "deny"] = "ack"

    @property
    def pipeline_is_known(self) -> bool:
        """False when an entry of the pipeline, or the preset, is in error."""
        return not any(path.startswith(("/pipeline", "/preset", "/extends")) for path in self.wrong)

    @property
    def pipeline_is_a_presets(self) -> bool:
        placed = self.written.get(("pipeline",))
        return placed is not None and placed.ref.layer == "preset" != self.checked.layer

    def choices(self, component: str, key: str) -> tuple[str | int, ...]:
        """What a key of a component may be; nothing for a component without that key."""
        found = component_block(self.components[component]).fields.get(key)
        return found.choices if found else ()

    def get(self, *path: str) -> Any:
        """An effective value, None when there is none."""
        found: Any = self.effective.document
        for step in path:
            found = found.get(step) if isinstance(found, dict) else None
        return found

    def about(self, path: Path, code: str, **facts: object) -> Problem:
        """A problem about an effective value, or about an entry of the pipeline."""
        placed = self.written.get(path[:1] if path[0] == "pipeline" else path)
        ref = placed.ref if placed else DEFAULT
        at, span = _place(placed, path)
        found = problem(code, at, span if ref == self.checked else None, **facts)
        name = facts.get("component")
        return replace(found, document=ref, component=str(name) if name else found.component)

    def about_key(self, component: str, key: str, code: str, **facts: object) -> Problem:
        """About a dotted key of a component: where it is written, else at the pipeline entry."""
        path: Path = ("components", component, *key.split(".")) if key else self.entry(component)
        if path not in self.written and (whole := self._list_of(path)):
            found = self.about_item(whole, int(path[len(whole)]), code, **facts)
            return replace(found, path=pointer(path), component=component)
        if key and path not in self.written and component in self.effective.pipeline:
            path = self.entry(component)
        return self.about(path, code, component=component, **facts)

    def _list_of(self, path: Path) -> Path | None:
        """The written list that holds what a path names."""
        return next(
            (path[:end] for end in range(len(path) - 1, 2, -1) if path[:end] in self.written), None
        )

    def about_preset(self, code: str, **facts: object) -> Problem:
        """At the reference to the preset that is in force."""
        assert self.naming is not None  # noqa: S101  a preset is in force only where it is named
        span = self.naming.leaf.span if self.naming.ref == self.checked else None
        return replace(problem(code, ("preset",), span, **facts), document=self.naming.ref)

    def about_item(self, path: Path, index: int, code: str, **facts: object) -> Problem:
        """About an entry of a written list."""
        placed = self.written[path]
        item = placed.leaf.items[index]
        span = item.span if placed.ref == self.checked else None
        return replace(problem(code, (*path, item.index), span, **facts), document=placed.ref)

    def entry(self, component: str) -> Path:
        return ("pipeline", self.effective.pipeline.index(component))


def _place(placed: Placed | None, path: Path) -> tuple[Path, Span | None]:
    """The path as it was written, and where: of the pipeline its key, of an entry the entry."""
    if placed is None:
        return path, None
    if len(path) > 1 and isinstance(path[1], int):
        item = placed.leaf.items[path[1]]
        return (path[0], item.index), item.span
    return path, placed.leaf.key_span if path[0] == "pipeline" else placed.leaf.span
