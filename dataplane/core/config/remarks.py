"""What components say about their own keys taken together, as problems with a place.

Source: 04 §2.5; the rules themselves are in the components' files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from dataplane.core.config.merge import Merge
from dataplane.core.config.problems import Edit, Inner, Problem, with_edits
from dataplane.core.config.tree import Path, pointer, spoken
from dataplane.core.port.declaration import Declaration, Remark

# What a value is on its own does not depend on whether the component runs.
_OF_A_VALUE = (
    "config.filter_invalid",
    "config.regex_invalid",
    "config.regex_too_slow",
    "config.limit_exceeded",
    "config.above_max",
)


def rules(merge: Merge) -> Iterator[Problem]:
    for name, declared in merge.components.items():
        runs = name in merge.effective.pipeline
        if declared.remarks is None or not (runs or name in merge.blocks):
            continue
        for remark in declared.remarks(_merged_keys(merge, declared)):
            at = pointer(("components", name, *remark.key.split(".")))
            is_said = any(path.startswith(at) for path in merge.wrong)
            if not is_said and (runs or remark.code in _OF_A_VALUE):
                yield _problem(merge, name, remark)


def _merged_keys(merge: Merge, declared: Declaration) -> msgspec.Struct:
    """The component's keys as it would get them, whether it runs or not."""
    block: dict[str, Any] = {}
    for path, placed in merge.written.items():
        if path[:2] == ("components", declared.name):
            inner = block
            for step in path[2:-1]:
                inner = inner.setdefault(str(step), {})
            inner[str(path[-1])] = placed.leaf.value
    return msgspec.convert(block, declared.config or msgspec.Struct)


def _problem(merge: Merge, component: str, remark: Remark) -> Problem:
    at: Path = ("components", component, *remark.key.split("."))
    facts: dict[str, object] = {"name": spoken(at), **remark.facts}
    if remark.other:
        other: Path = ("components", component, *remark.other.split("."))
        placed = merge.written.get(other)
        span = placed.leaf.key_span if placed else None
        facts["other"] = spoken(other)
        facts["at"] = f"on line {span.line}, column {span.column}" if span else "elsewhere"
    found = merge.about_key(component, remark.key, remark.code, **facts)
    errors = tuple(Inner(*inner) for inner in remark.inner)
    found = replace(found, errors=errors)
    if remark.better is not None:
        return with_edits(found, "set", Edit("set", pointer(at), value=remark.better))
    return found
