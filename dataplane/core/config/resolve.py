"""Layers of documents merged leaf by leaf into the one document that a node runs.

Lowest to highest: defaults of the registry, server default, organisation default, preset,
tenant. Naming a preset drops the preset and the pipeline of the layers below it.
Source: 04-controlplane-and-dashboard.md section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dataplane.core.config.canonical import content_hash, encode
from dataplane.core.config.document import STORE_SIZES
from dataplane.core.config.problems import DocumentRef
from dataplane.core.config.registry import SCHEMA_VERSION, Key
from dataplane.core.config.registry import leaves as leaves_of
from dataplane.core.config.resource import Host
from dataplane.core.config.tree import Path, pointer
from dataplane.core.config.validate import Leaf
from dataplane.core.declaration import Declaration
from dataplane.core.pipeline import PipelineStep

DEFAULT = DocumentRef("default", f"schema{SCHEMA_VERSION}")
_HOST_KEYS = ("mode", "force_model", "inject_expand", "recovery_require_path")


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one document writes: leaves by path, all of the right type."""

    ref: DocumentRef
    leaves: Mapping[Path, Leaf]


@dataclass(frozen=True, slots=True)
class Placed:
    """A leaf of the merge and the document that wrote it."""

    leaf: Leaf
    ref: DocumentRef


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an effective value comes from; line is None for a default."""

    ref: DocumentRef
    line: int | None = None

    def __str__(self) -> str:
        return str(self.ref) if self.line is None else f"{self.ref}:line {self.line}"


@dataclass(frozen=True, slots=True)
class Effective:
    """The whole document of one tenant: what a Variant carries.

    document: JSON values, with schema_version and sources. origins and ignored: by JSON pointer;
    ignored are written keys of components that are not in the pipeline. effective_hash: SHA-256
    hex of the canonical bytes without sources.
    """

    document: dict[str, Any]
    host: Host
    origins: Mapping[str, Origin]
    ignored: Mapping[str, Origin]
    effective_hash: str

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
    contributions: Sequence[Contribution], preset: Contribution | None
) -> dict[Path, Placed]:
    """The winning leaf per path; preset: the contents of the one that `naming` found."""
    named = naming(contributions)
    at = named[0] if named else 0
    lower, upper = contributions[:at], contributions[at:]
    result: dict[Path, Placed] = {}
    for layer in lower:
        result |= _placed(layer)
    if named:
        result.pop(("pipeline",), None)
    for layer in (*([preset] if preset else []), *upper):
        result |= _placed(layer)
    result.pop(("preset",), None)
    return result


def effective(
    written: Mapping[Path, Placed], root: Key, sources: Sequence[DocumentRef]
) -> Effective:
    """Fill in the defaults; root: the registry. Components outside the pipeline are ignored."""
    pipeline = written[("pipeline",)].leaf.value if ("pipeline",) in written else []
    document: dict[str, Any] = {"pipeline": list(pipeline), "components": {}}
    origins = {"/pipeline": _origin(written.get(("pipeline",)))}
    for path, key in leaves_of(root):
        outside = path[0] == "components" and path[1] not in pipeline
        if not outside and path not in (("pipeline",), ("preset",)):
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
    return Effective(document, host_of(document), origins, ignored, digest)


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


def _placed(layer: Contribution) -> dict[Path, Placed]:
    return {path: Placed(leaf, layer.ref) for path, leaf in layer.leaves.items()}


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
    block[str(path[-1])] = float(value) if key.kind in ("number", "decimal") else value
    origins[pointer(path)] = _origin(placed)


def _fill_store(store: dict[str, Any], origins: dict[str, Origin]) -> None:
    """Sizes by backend; originals never outlive the rest (03 section 5.4)."""
    sizes = msgspec.structs.asdict(STORE_SIZES[store["backend"]])
    for name, size in sizes.items():
        if name not in store:
            store[name] = size
            origins[f"/store/{name}"] = Origin(DEFAULT)
    if store.setdefault("stash_ttl_seconds", store["ttl_seconds"]) > store["ttl_seconds"]:
        store["stash_ttl_seconds"] = store["ttl_seconds"]
    origins.setdefault("/store/stash_ttl_seconds", origins["/store/ttl_seconds"])
