"""Rules that look at several keys at once, over the merged document: errors and warnings.

Source: 04 §2.5, third table; 01 §3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dataplane.core.config import habits, remarks
from dataplane.core.config.document import Document
from dataplane.core.config.merge import Merge
from dataplane.core.config.problems import Edit, Problem, problem, with_edits
from dataplane.core.config.registry import block_of, lacking
from dataplane.core.config.tree import Path, pointer
from dataplane.core.port.declaration import Kind

_LEAVES_MARKERS = "marker_mode"
_ONLY_NAMED = "The preset can be saved; no tenant can follow it while it names what cannot run."


def rules(merge: Merge) -> Iterator[Problem]:
    """Everything that the merged document has to say, errors and advice alike."""
    for rule in (
        _unavailable,
        _idle_blocks,
        _empty_pipeline,
        _alone,
        _markers_without_store,
        _one_way_markers,
        _stash_ttl,
        _not_in_effect,
        _recovery,
        remarks.rules,
        habits.rules,
    ):
        yield from rule(merge)


def _unavailable(merge: Merge) -> Iterator[Problem]:
    """Where the document names what this build lacks: at the entry, or at the preset's name."""
    lacking = [name for name in merge.effective.pipeline if not merge.components[name].available]
    if lacking and merge.pipeline_is_a_presets:
        yield _preset_unavailable(merge, lacking)
        return
    for name in lacking:
        is_preset = merge.checked.layer == "preset"
        reason = f"Its keys are checked, but running it needs {merge.components[name].lacks}."
        reason += f" {_ONLY_NAMED}" if is_preset else ""
        fix = f"Take {name} out of the pipeline; its block may stay."
        facts = {"component": name, "what": name, "reason": reason, "fix": fix}
        path = merge.entry(name)
        found = merge.about(path, "config.component_unavailable", **facts)
        if is_preset:
            # A preset runs nothing by itself; a tenant that takes it up is told with an error.
            found = replace(found, severity="warning")
        yield with_edits(found, "delete", Edit("delete", found.path))


def _preset_unavailable(merge: Merge, lacking: list[str]) -> Problem:
    needs = [f"{name} needs {merge.components[name].lacks}" for name in lacking]
    runs = [name for name in merge.effective.pipeline if name not in lacking]
    facts = {
        "what": f"Preset {merge.naming.leaf.value}" if merge.naming else "The preset",
        "reason": f"{'; '.join(needs)}.",
        "fix": f"Name another preset, or write a pipeline without them: [{', '.join(runs)}].",
    }
    found = merge.about_preset("config.component_unavailable", **facts)
    return with_edits(found, "set", Edit("set", "/pipeline", value=tuple(runs)))


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


def _alone(merge: Merge) -> Iterator[Problem]:
    pipeline = merge.effective.pipeline
    for name in pipeline if len(pipeline) > 1 else ():
        if merge.components[name].alone:
            others = ", ".join(other for other in pipeline if other != name)
            facts = {"component": name, "others": others}
            yield merge.about(merge.entry(name), "config.must_run_alone", **facts)


def _markers_without_store(merge: Merge) -> Iterator[Problem]:
    if merge.get("store", "enabled"):
        return
    for name in merge.effective.pipeline:
        mode = merge.get("components", name, _LEAVES_MARKERS)
        path: Path = ("components", name, _LEAVES_MARKERS)
        if mode not in ("full", "summary") or pointer(path) in merge.wrong:
            continue
        if reason := _needs_store(merge, name):
            facts = {"component": name, "reason": reason}
            yield merge.about(merge.entry(name), "config.store_required", **facts)
            continue
        by_default = path not in merge.written
        at = merge.entry(name) if by_default else path
        facts = {"component": name, "by_default": " by default" if by_default else ""}
        found = merge.about(at, f"config.store_disabled_marker_{mode}", **facts)
        if mode == "full":
            found = with_edits(found, "set", Edit("set", pointer(path), value="off"))
        yield found


def _needs_store(merge: Merge, name: str) -> str:
    """Why a component may not remove anything for good; empty when it may."""
    if len(merge.choices(name, _LEAVES_MARKERS)) == 1:
        return "It always keeps originals, so that what it removes can be brought back."
    if merge.one_way == "deny" and merge.components[name].injects:
        return "Policy forbids it to remove anything for good."
    return ""


def _one_way_markers(merge: Merge) -> Iterator[Problem]:
    for name in merge.effective.pipeline if merge.get("store", "enabled") else ():
        mode = merge.get("components", name, _LEAVES_MARKERS)
        path: Path = ("components", name, _LEAVES_MARKERS)
        if mode in ("summary", "off") and merge.components[name].kind is Kind.OFFLOAD:
            policy = " Policy allows nothing else." if merge.one_way == "deny" else ""
            facts = {"component": name, "mode": mode, "policy": policy}
            found = merge.about(path, "config.irreversible_mode", **facts)
            severity = "error" if merge.one_way == "deny" else "warning"
            found = replace(found, severity=severity)
            yield with_edits(found, "set", Edit("set", pointer(path), value="full"))


def _stash_ttl(merge: Merge) -> Iterator[Problem]:
    path = ("store", "stash_ttl_seconds")
    ttl = merge.get("store", "ttl_seconds")
    if path in merge.written and merge.written[path].leaf.value > ttl:
        stash = merge.written[path].leaf.value
        found = merge.about(path, "config.stash_ttl_above_ttl", stash=stash, ttl=ttl)
        yield with_edits(found, "set", Edit("set", pointer(path), value=ttl))


_TRANSFORMERS = ("extract", "cmdfilter", "smartcrush", "collapse")


def _not_in_effect(merge: Merge) -> Iterator[Problem]:
    """Keys that are declared ahead of their behaviour: a switch is refused, other values wait."""
    for path, key in lacking(block_of(Document)):
        value = merge.get(*path)
        if path not in merge.written or value == key.default:
            continue
        name = ".".join(path)
        if key.kind == "boolean" and value is True:
            reason = "It is designed, and not part of this build."
            facts = {"name": name, "actual": "true", "reason": reason, "choices": "false"}
            found = merge.about(path, "config.unsupported_value", **facts)
            yield with_edits(found, "set", Edit("set", found.path, value=False))
        else:
            found = merge.about(path, "config.not_in_effect", name=name, lacks=key.lacks)
            yield with_edits(found, "delete", Edit("delete", found.path))


def _recovery(merge: Merge) -> Iterator[Problem]:
    """The blocks recovery and expand (05 §A9)."""
    if merge.get("expand", "max_inline_bytes") and not merge.get("expand", "tool_paging"):
        facts = {"name": "expand.max_inline_bytes", "other": "expand.tool_paging: true"}
        yield merge.about(("expand", "max_inline_bytes"), "config.requires_key", **facts)
    yield from _transforms(merge)


def _transforms(merge: Merge) -> Iterator[Problem]:
    path: Path = ("recovery", "transforms")
    placed = merge.written.get(path)
    for index, name in enumerate(placed.leaf.value if placed else ()):
        declared = merge.components.get(name)
        known = ", ".join(_TRANSFORMERS)
        if declared is None:
            facts = {"name": name, "known": known, "fix": f"Write one of: {known}."}
            yield merge.about_item(path, index, "config.unknown_component", **facts)
        elif name not in _TRANSFORMERS:
            reason = (
                "It asks a model, so the same text would not always give the same answer."
                if declared.calls_model
                else "It needs more than one text, and here each is shortened on its own."
            )
            facts = {"name": "recovery.transforms", "actual": name, "reason": reason}
            found = merge.about_item(
                path, index, "config.unsupported_value", **facts, choices=known
            )
            yield with_edits(found, "delete", Edit("delete", found.path))
