"""Rules that look at several keys at once, over the merged document.

A problem is positioned where the document under check wrote the value; when another layer or a
default did, it has no position and names that layer. Source: 04 section 2.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from dataplane.core.config.problems import DocumentRef, Edit, Problem, problem, with_edits
from dataplane.core.config.resolve import DEFAULT, Effective, Placed
from dataplane.core.config.tree import Path, Span, pointer
from dataplane.core.declaration import Declaration, Kind

_BEHIND_CACHESPLIT = ("toolfilter",)
_LEAVES_MARKERS = "marker_mode"


@dataclass(frozen=True, slots=True)
class Merge:
    """What the rules see. checked: the document whose lines may be named; blocks: where its
    component blocks stand. caching_upstream: the tenant's provider keeps a prompt cache.
    wrong: the paths of what is in error already, about which nothing more is said.
    """

    written: Mapping[Path, Placed]
    effective: Effective
    components: Mapping[str, Declaration]
    checked: DocumentRef
    blocks: Mapping[str, Span | None]
    caching_upstream: bool
    wrong: frozenset[str]

    @property
    def pipeline_is_known(self) -> bool:
        """False when an entry of the pipeline, or the preset, is in error."""
        return not any(path.startswith(("/pipeline", "/preset")) for path in self.wrong)

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


def rules(merge: Merge) -> Iterator[Problem]:
    """Everything that the merged document has to say, errors and advice alike."""
    for rule in (
        _idle_blocks,
        _empty_pipeline,
        _markers_without_store,
        _stash_ttl,
        _mask_on_cache,
        _order,
        _cachesplit_last,
        _keepalive,
    ):
        yield from rule(merge)


def _idle_blocks(merge: Merge) -> Iterator[Problem]:
    for name, span in merge.blocks.items():
        if merge.pipeline_is_known and name not in merge.effective.pipeline:
            facts = {"component": name}
            path: Path = ("components", name)
            found = problem("config.component_not_in_pipeline", path, span, **facts)
            found = replace(found, document=merge.checked)
            yield with_edits(found, "delete", Edit("delete", found.path))


def _empty_pipeline(merge: Merge) -> Iterator[Problem]:
    if merge.pipeline_is_known and not merge.effective.pipeline:
        yield merge.about(("pipeline",), "config.empty_pipeline")


def _markers_without_store(merge: Merge) -> Iterator[Problem]:
    if merge.get("store", "enabled"):
        return
    for name in merge.effective.pipeline:
        mode = merge.get("components", name, _LEAVES_MARKERS)
        path: Path = ("components", name, _LEAVES_MARKERS)
        if mode not in ("full", "summary") or pointer(path) in merge.wrong:
            continue
        by_default = path not in merge.written
        at = merge.entry(name) if by_default else path
        facts = {"component": name, "by_default": " by default" if by_default else ""}
        found = merge.about(at, f"config.store_disabled_marker_{mode}", **facts)
        if mode == "full":
            found = with_edits(found, "set", Edit("set", pointer(path), value="off"))
        yield found


def _stash_ttl(merge: Merge) -> Iterator[Problem]:
    path = ("store", "stash_ttl_seconds")
    ttl = merge.get("store", "ttl_seconds")
    if path in merge.written and merge.written[path].leaf.value > ttl:
        stash = merge.written[path].leaf.value
        found = merge.about(path, "config.stash_ttl_above_ttl", stash=stash, ttl=ttl)
        yield with_edits(found, "set", Edit("set", pointer(path), value=ttl))


def _mask_on_cache(merge: Merge) -> Iterator[Problem]:
    caches = merge.caching_upstream and merge.get("cache", "mode") != "off"
    if caches and merge.get("components", "mask", "cold_cache") is False:
        path = merge.entry("mask")
        found = merge.about(path, "advice.mask_on_caching_backend", component="mask")
        yield with_edits(found, "set", Edit("set", "/components/mask/cold_cache", value=True))


def _order(merge: Merge) -> Iterator[Problem]:
    lossy: str | None = None
    for name in merge.effective.pipeline:
        kind = merge.components[name].kind
        if kind is Kind.OFFLOAD:
            lossy = lossy or name
        elif kind is Kind.REFORMAT and lossy:
            facts = {"component": name, "before": lossy}
            yield merge.about(merge.entry(name), "advice.order_lossless_first", **facts)


def _cachesplit_last(merge: Merge) -> Iterator[Problem]:
    last = [name for name in merge.effective.pipeline if name not in _BEHIND_CACHESPLIT]
    if "cachesplit" in last and last[-1] != "cachesplit":
        path = merge.entry("cachesplit")
        yield merge.about(path, "advice.cachesplit_not_last", component="cachesplit")


def _keepalive(merge: Merge) -> Iterator[Problem]:
    if merge.get("cache", "keepalive"):
        yield merge.about(("cache", "keepalive"), "advice.keepalive_spends")
