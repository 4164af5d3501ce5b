"""What is legal but known to work out badly: advice about the pipeline as a whole.

Source: 04 §2.5, last table; 01 §4, combinations.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataplane.core.config.merge import Merge
from dataplane.core.config.problems import Edit, Problem, with_edits
from dataplane.core.config.recovery_keys import (
    MAX_DEADLINE_MS,
    MAX_RETRIEVE_DEADLINE_MS,
    SMALLEST_ADVISED_PAGE,
)
from dataplane.core.config.tree import pointer
from dataplane.core.port.declaration import Kind

_BEHIND_CACHESPLIT = ("toolfilter",)


def rules(merge: Merge) -> Iterator[Problem]:
    for rule in (
        _mask_on_cache,
        _order,
        _linecap_last,
        _agentdiet_alone,
        _cachesplit_last,
        _keepalive,
        _recovery_limits,
    ):
        yield from rule(merge)


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


def _offloads(merge: Merge) -> list[str]:
    pipeline = merge.effective.pipeline
    return [name for name in pipeline if merge.components[name].kind is Kind.OFFLOAD]


def _linecap_last(merge: Merge) -> Iterator[Problem]:
    lossy = _offloads(merge)
    if "linecap" in lossy and lossy[-1] != "linecap":
        facts = {"component": "linecap", "behind": lossy[-1]}
        yield merge.about(merge.entry("linecap"), "advice.linecap_not_last", **facts)


def _agentdiet_alone(merge: Merge) -> Iterator[Problem]:
    lossy = _offloads(merge)
    if "agentdiet" in lossy and len(lossy) > 1:
        others = ", ".join(name for name in lossy if name != "agentdiet")
        facts = {"component": "agentdiet", "others": others}
        yield merge.about(merge.entry("agentdiet"), "advice.agentdiet_not_alone", **facts)


def _cachesplit_last(merge: Merge) -> Iterator[Problem]:
    last = [name for name in merge.effective.pipeline if name not in _BEHIND_CACHESPLIT]
    if "cachesplit" in last and last[-1] != "cachesplit":
        path = merge.entry("cachesplit")
        yield merge.about(path, "advice.cachesplit_not_last", component="cachesplit")


def _keepalive(merge: Merge) -> Iterator[Problem]:
    if merge.get("cache", "keepalive"):
        yield merge.about(("cache", "keepalive"), "advice.keepalive_spends")


def _recovery_limits(merge: Merge) -> Iterator[Problem]:
    for name, cap in (
        ("deadline_ms", MAX_DEADLINE_MS),
        ("retrieve_deadline_ms", MAX_RETRIEVE_DEADLINE_MS),
    ):
        path = ("recovery", "limits", name)
        value = merge.get(*path)
        if value is not None and value > cap:
            facts = {"name": ".".join(path), "value": value, "cap": cap}
            found = merge.about(path, "advice.recovery_deadline_capped", **facts)
            yield with_edits(found, "set", Edit("set", pointer(path), value=cap))
    path = ("recovery", "limits", "page_bytes")
    if (size := merge.get(*path)) is not None and size < SMALLEST_ADVISED_PAGE:
        found = merge.about(path, "advice.recovery_page_small", value=size)
        edit = Edit("set", pointer(path), value=SMALLEST_ADVISED_PAGE)
        yield with_edits(found, "set", edit)
