"""The reference page of a document: its keys beside those of components, and the packaged presets.

Source: 07-house-style.md 5 (what is derived from a declaration).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from dataplane.core.config.document import REMOVED, STORE_SIZES, StoreSizes
from dataplane.core.config.parse import parse
from dataplane.core.config.presets import BUILT_IN, Preset
from dataplane.core.config.registry import LARGEST_INTEGER, Key, leaves, registry
from dataplane.core.config.tree import Path, ScalarNode, SequenceNode
from dataplane.core.port.declaration import Declaration, Refusal
from dataplane.core.port.reference import table

GENERATED = "<!-- Written by `make docs` from the code; edit that instead. -->"
INTRODUCTION = """\
What a tenant runs is a document in YAML 1.2: the components in `pipeline`, in their order, each
with a block of keys below `components` ([their keys](components/README.md)), and the keys of this
page. What is not written comes from the preset that the document names, else from the defaults. A
tenant without a document follows
[the one of the deployment](../controlplane/configs/server_default.yaml).

`headrace validate --offline FILE` checks one without a server. The editor shows the same marks, and
its view *Effective* where each value comes from.\
"""
BY_BACKEND = "by backend, below"


def page(declared: Mapping[str, Declaration]) -> str:
    shown = leaves(registry(declared))
    keys = [row(path, key) for path, key in shown if path[0] != "components"]
    sizes = [size_row(field) for field in msgspec.structs.fields(StoreSizes)]
    presets = [preset_row(preset, declared) for preset in BUILT_IN]
    lines = [
        *(GENERATED, "", "# A document", "", INTRODUCTION, "", "## Keys", ""),
        *table(("key", "type", "default", "meaning"), keys),
        *("", "## Keys that were removed", ""),
        *table(("key", "why", "instead"), map(removed_row, REMOVED.items())),
        *("", "## What a store keeps when the document does not say", ""),
        *table(("`store` key", *(f"`{name}`" for name in STORE_SIZES)), sizes),
        *("", "## Presets that come with the package", ""),
        *table(("preset", "runs in this build", "meaning", "pipeline"), presets),
    ]
    return "\n".join(lines) + "\n"


def row(path: Path, key: Key) -> tuple[str, str, str, str]:
    name = ".".join(map(str, path))
    return f"`{name}`", ", ".join(facts(key)), default_of(path, key), " ".join(said(key))


def default_of(path: Path, key: Key) -> str:
    if key.default is not None:
        return f"`{msgspec.json.encode(key.default).decode()}`"
    return BY_BACKEND if path[0] == "store" and path[-1] in StoreSizes.__struct_fields__ else ""


def facts(key: Key) -> Iterator[str]:
    """Type, unit and bounds in words."""
    if key.choices:
        yield " or ".join(f"`{choice}`" for choice in key.choices)
    elif key.item is not None:
        yield f"list of {key.item.kind}s"
    else:
        yield key.kind
    if key.unit:
        yield key.unit
    if key.minimum:
        yield f"≥ {key.minimum:g}"
    if key.maximum is not None and key.maximum != LARGEST_INTEGER:
        yield f"≤ {key.maximum:.10g}"


def said(key: Key) -> Iterator[str]:
    yield key.title
    if key.zero_means:
        yield f"0: {key.zero_means}."
    if key.lacks:
        refused = ": `true` is refused" if key.default is False else ""
        yield f"Not in effect in this build, which lacks {key.lacks}{refused}."
    for value, why in key.unavailable.items():
        yield f"`{value}`: {why}"


def removed_row(removed: tuple[str, Refusal]) -> tuple[str, str, str]:
    name, why = removed
    return f"`{name}`", why.reason, why.replacement


def size_row(field: msgspec.structs.FieldInfo) -> tuple[str, ...]:
    sizes = (getattr(held, field.name) for held in STORE_SIZES.values())
    return (f"`{field.name}`", *(f"{size:,}" for size in sizes))


def preset_row(preset: Preset, declared: Mapping[str, Declaration]) -> tuple[str, str, str, str]:
    names = pipeline_of(preset)
    lacking = [name for name in names if declared[name].lacks]
    runs = f"no, {len(lacking)} of {len(names)} do not" if lacking else "yes"
    return f"`{preset.name}`", runs, preset.note, ", ".join(names) or "(empty)"


def pipeline_of(preset: Preset) -> list[str]:
    """As it is written: no packaged preset builds on another one."""
    tree = parse(preset.text).tree
    written = tree.get("pipeline") if tree else None
    items = written.value.items if written and isinstance(written.value, SequenceNode) else ()
    return [str(item.value) for item in items if isinstance(item, ScalarNode)]
