"""Layers of documents merged leaf by leaf into the one document that a node runs.

Lowest to highest: defaults of the registry, server default, organisation default, preset,
tenant. Naming a preset drops the preset and the pipeline of the layers below it.
Source: 04-controlplane-and-dashboard.md 3.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from dataplane.core.config.canonical import content_hash, encode
from dataplane.core.config.document import STORE_SIZES
from dataplane.core.config.problems import DocumentRef
from dataplane.core.config.registry import SCHEMA_VERSION, Key
from dataplane.core.config.registry import leaves as leaves_of
from dataplane.core.config.tree import Path, pointer, steps_of
from dataplane.core.config.validate import Leaf
from dataplane.core.port.declaration import Declaration, PipelineStep
from dataplane.core.resource import Host

DEFAULT = DocumentRef("default", f"schema{SCHEMA_VERSION}")
_HOST_KEYS = ("mode", "force_model", "inject_expand", "recovery_require_path")


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one document writes: leaves by path, all of the right type."""

    ref: DocumentRef
    leaves: Mapping[Path, Leaf]


@dataclass(frozen=True, slots=True)
class Placed:
    """A leaf of the merge and the document that wrote it. over: what it overrides, the highest
    first.
    """

    leaf: Leaf
    ref: DocumentRef
    over: tuple[Placed, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an effective value comes from; line is None for a default."""

    ref: DocumentRef
    line: int | None = None

    def __str__(self) -> str:
        return str(self.ref) if self.line is None else f"{self.ref}:line {self.line}"


@dataclass(frozen=True, slots=True)
class Said:
    """What a layer wrote that a higher one overrides; the registry's default is the lowest."""

    value: Any
    origin: Origin


@dataclass(frozen=True, slots=True)
class Effective:
    """The whole document of one tenant: what a Variant carries.

    document: JSON values, with schema_version and sources. origins and ignored: by JSON pointer;
    ignored are written keys of components that are not in the pipeline. overridden: what lower
    layers said of a key, the highest first. effective_hash: SHA-256 hex of the canonical bytes
    without sources.
    """

    document: dict[str, Any]
    host: Host
    origins: Mapping[str, Origin]
    ignored: Mapping[str, Origin]
    effective_hash: str
    overridden: Mapping[str, tuple[Said, ...]] = field(default_factory=dict)

    @property
    def pipeline(self) -> list[str]:
        pipeline: list[str] = self.document["pipeline"]
        return pipeline


def naming(contributions: Sequence[Contribution]) -> tuple[int, str] | None:
    """The highest layer that names a preset, and its reference; None when no layer does."""
    for index in range(len(contributions) - 1, -1, -1):
        leaf = contributions[index].leaves.get(("preset",))
        if leaf:
            return index, leaf.value
    return None


def merged(
    contributions: Sequence[Contribution], presets: Sequence[Contribution]
) -> dict[Path, Placed]:
    """The winning leaf per path, and what it overrides.

    presets: the contents of the one that `naming` found, behind those that it extends.
    """
    named = naming(contributions)
    at = named[0] if named else 0
    result: dict[Path, Placed] = {}
    for layer in contributions[:at]:
        _overlay(result, layer)
    dropped = result.pop(("pipeline",), None) if named else None
    for layer in (*presets, *contributions[at:]):
        _overlay(result, layer)
    pipeline = result.get(("pipeline",))
    if dropped and pipeline:
        over = (*pipeline.over, dropped, *dropped.over)
        result["pipeline",] = replace(pipeline, over=over)
    for name in ("preset", "extends"):
        result.pop((name,), None)
    return result


def _overlay(result: dict[Path, Placed], layer: Contribution) -> None:
    for path, leaf in layer.leaves.items():
        lower = result.get(path)
        over = (replace(lower, over=()), *lower.over) if lower else ()
        result[path] = Placed(leaf, layer.ref, over)


def effective(
    written: Mapping[Path, Placed], root: Key, sources: Sequence[DocumentRef]
) -> Effective:
    """Fill in the defaults; root: the registry. Components outside the pipeline are ignored."""
    pipeline = written[("pipeline",)].leaf.value if ("pipeline",) in written else []
    document: dict[str, Any] = {"pipeline": list(pipeline), "components": {}}
    origins = {"/pipeline": _origin(written.get(("pipeline",)))}
    defaults = dict(leaves_of(root))
    for path, key in defaults.items():
        outside = path[0] == "components" and path[1] not in pipeline
        if not outside and path[0] not in ("pipeline", "preset", "extends"):
            _fill(document, origins, path, key, written.get(path))
    _fill_store(document["store"], origins)
    document["schema_version"] = SCHEMA_VERSION
    digest = content_hash(encode(document))
    document["sources"] = [msgspec.to_builtins(ref) for ref in sources]
    ignored = {
        pointer(path): _origin(placed)
        for path, placed in written.items()
        if path[0] == "components" and path[1] not in pipeline
    }
    overridden = {
        pointer(path): tuple(_said(placed, path, defaults))
        for path, placed in written.items()
        if pointer(path) in origins
    }
    overridden = {path: said for path, said in overridden.items() if said}
    return Effective(document, host_of(document), origins, ignored, digest, overridden)


def _said(placed: Placed, path: Path, defaults: Mapping[Path, Key]) -> Iterator[Said]:
    for lower in placed.over:
        yield Said(lower.leaf.value, _origin(lower))
    default = defaults[path].default
    if default is not None:
        yield Said(_number(default, defaults[path]), Origin(DEFAULT))


def value_at(document: Any, path: str) -> Any:
    """What stands at an RFC 6901 pointer of a JSON value; None for nothing."""
    for step in steps_of(path):
        if isinstance(document, list):
            document = document[int(step)] if step.isdigit() and int(step) < len(document) else None
        else:
            document = document.get(step) if isinstance(document, Mapping) else None
    return document


def host_of(document: Mapping[str, Any]) -> Host:
    """The part of an effective document that the proxy itself obeys."""
    keys = {name: document[name] for name in _HOST_KEYS if name in document}
    return msgspec.convert({**keys, "cache_mode": document["cache"]["mode"]}, Host)


def steps(
    document: Mapping[str, Any], components: Mapping[str, Declaration]
) -> tuple[PipelineStep, ...]:
    """The pipeline of an effective document, ready to run."""
    blocks = document["components"]
    return tuple(
        PipelineStep(declared, _config(declared, blocks.get(declared.name, {})))
        for declared in (components[name] for name in document["pipeline"])
    )


def _config(declared: Declaration, block: Mapping[str, Any]) -> msgspec.Struct | None:
    return msgspec.convert(block, declared.config) if declared.config else None


def _origin(placed: Placed | None) -> Origin:
    if placed is None:
        return Origin(DEFAULT)
    span = placed.leaf.key_span
    return Origin(placed.ref, span.line if span else None)


def _fill(
    document: dict[str, Any],
    origins: dict[str, Origin],
    path: Path,
    key: Key,
    placed: Placed | None,
) -> None:
    value = placed.leaf.value if placed else key.default
    if value is None:
        return
    block = document
    for step in path[:-1]:
        block = block.setdefault(str(step), {})
    if isinstance(value, list):
        value = list(value)
    block[str(path[-1])] = _number(value, key)
    origins[pointer(path)] = _origin(placed)


def _number(value: Any, key: Key) -> Any:
    """A number of the registry is a float in JSON, however it was written."""
    return float(value) if key.kind in ("number", "decimal") else value


def _fill_store(store: dict[str, Any], origins: dict[str, Origin]) -> None:
    """Sizes by backend; originals never outlive the rest (03 §5.4)."""
    sizes = msgspec.structs.asdict(STORE_SIZES[store["backend"]])
    for name, size in sizes.items():
        if name not in store:
            store[name] = size
            origins[f"/store/{name}"] = Origin(DEFAULT)
    if store.setdefault("stash_ttl_seconds", store["ttl_seconds"]) > store["ttl_seconds"]:
        store["stash_ttl_seconds"] = store["ttl_seconds"]
    origins.setdefault("/store/stash_ttl_seconds", origins["/store/ttl_seconds"])
