"""What differs between two documents or two effective documents, key by key.

The sentences about it are in summary.py, the difference of the texts in lines.py.
Source: 04-controlplane-and-dashboard.md 3.5, views `semantic` and `effective`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dataplane.core.config.canonical import canonical
from dataplane.core.config.lines import common
from dataplane.core.config.registry import Key
from dataplane.core.config.resolve import Effective
from dataplane.core.config.tree import MappingNode, steps_of
from dataplane.core.port.declaration import Declaration, Kind

Impact = Literal[
    "prefix_break", "spends", "lossy", "injects_tool", "irreversible", "blocks", "behaviour"
]
_ENVELOPE = ("schema_version", "sources", "pipeline")
_NO_ORIGIN = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. component: whose key or entry it is, empty for the rest.

    Of the pipeline, path ends in the place on the side that has the entry; a move has its
    1-based places as before and after. origin_before, origin_after: of effective documents.
    """

    path: str
    op: Literal["add", "remove", "change", "move"]
    before: Any = None
    after: Any = None
    component: str = ""
    origin_before: str = ""
    origin_after: str = ""
    unit: str | None = None
    impact: tuple[Impact, ...] = ()


@dataclass(frozen=True, slots=True)
class _Side:
    leaves: Mapping[str, Any]
    pipeline: Sequence[str]
    origin: Callable[[str], str]


def semantic(left: MappingNode | None, right: MappingNode | None, root: Key,
             components: Mapping[str, Declaration]) -> list[Change]:  # fmt: skip
    """The difference of what two valid documents write; root: the registry."""
    return _changes(_written(left, root), _written(right, root), root, components)


def between(
    left: Effective, right: Effective, root: Key, components: Mapping[str, Declaration]
) -> list[Change]:
    """The difference of what would run, with the origin of each value on both sides."""
    return _changes(_resolved(left), _resolved(right), root, components)


def _written(tree: MappingNode | None, root: Key) -> _Side:
    values = json.loads(canonical(tree, root)) if tree else {}
    pipeline = values.get("pipeline", [])
    return _Side(dict(_leaves(values, "")), pipeline, lambda _: _NO_ORIGIN)


def _resolved(effective: Effective) -> _Side:
    def origin(path: str) -> str:
        found = effective.origins.get("/pipeline" if path.startswith("/pipeline") else path)
        return str(found) if found else _NO_ORIGIN

    return _Side(dict(_leaves(effective.document, "")), effective.pipeline, origin)


def _leaves(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if not path and name in _ENVELOPE:
            continue
        at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if isinstance(value, dict):
            yield from _leaves(value, at)
        else:
            yield at, value


def _changes(
    left: _Side, right: _Side, root: Key, components: Mapping[str, Declaration]
) -> list[Change]:
    found = [*_entries(left, right, components)]
    for path in sorted({*left.leaves, *right.leaves}):
        before, after = left.leaves.get(path), right.leaves.get(path)
        if path not in left.leaves or path not in right.leaves or before != after:
            found.append(_leaf(path, left, right, root))
    return found


def _leaf(path: str, left: _Side, right: _Side, root: Key) -> Change:
    before, after = left.leaves.get(path), right.leaves.get(path)
    op: Literal["add", "remove", "change"] = "change"
    if path not in left.leaves:
        op = "add"
    elif path not in right.leaves:
        op = "remove"
    steps = steps_of(path)
    key = key_at(root, steps)
    return Change(
        path,
        op,
        before,
        after,
        component=steps[1] if steps[0] == "components" else "",
        origin_before=left.origin(path),
        origin_after=right.origin(path),
        unit=key.unit if key else None,
        impact=_impact(path, after),
    )


def key_at(root: Key, steps: Sequence[str]) -> Key | None:
    """The registry's key of a path; None for what it does not know."""
    found: Key | None = root
    for step in steps:
        found = found.fields.get(step) if found else None
    return found


def _impact(path: str, after: Any) -> tuple[Impact, ...]:
    if path.endswith("/marker_mode") and after in ("summary", "off"):
        return ("irreversible",)
    if path == "/store/enabled" and after is False:
        return ("irreversible", "blocks")
    return ("behaviour",) if path == "/mode" else ()


def _entries(left: _Side, right: _Side, components: Mapping[str, Declaration]) -> Iterator[Change]:
    """Entries of the pipeline that went, came or moved, in the order of the right side."""
    origins = {
        "origin_before": left.origin("/pipeline"),
        "origin_after": right.origin("/pipeline"),
    }
    for index, name in enumerate(left.pipeline):
        if name not in right.pipeline:
            impact = _of_component(components[name], comes=False)
            at = f"/pipeline/{index}"
            yield Change(at, "remove", name, None, component=name, impact=impact, **origins)
    stay = [name for name in left.pipeline if name in right.pipeline]
    ours = [name for name in right.pipeline if name in left.pipeline]
    kept = {stay[i] for i, _ in common(stay, ours)}
    for index, name in enumerate(right.pipeline):
        at = f"/pipeline/{index}"
        if name not in left.pipeline:
            impact = _of_component(components[name], comes=True)
            yield Change(at, "add", None, name, component=name, impact=impact, **origins)
        elif name not in kept:
            before = list(left.pipeline).index(name) + 1
            moved: tuple[Impact, ...] = ("prefix_break",)
            yield Change(at, "move", before, index + 1, component=name, impact=moved, **origins)


def _of_component(declared: Declaration, *, comes: bool) -> tuple[Impact, ...]:
    flags: list[Impact] = ["prefix_break"]
    if comes and declared.calls_model:
        flags.append("spends")
    if comes and declared.kind is Kind.OFFLOAD:
        flags.append("lossy")
    if declared.injects:
        flags.append("injects_tool")
    return tuple(flags)
