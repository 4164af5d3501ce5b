"""From one checked document to the merge it takes part in: the layers below it and its preset.

Source: 04-controlplane-and-dashboard.md sections 2.5 (references) and 3.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from dataplane.core.config.across import Merge, rules
from dataplane.core.config.parse import parse
from dataplane.core.config.presets import BUILT_IN, Preset, find, split
from dataplane.core.config.problems import (
    DocumentRef,
    Edit,
    Problem,
    Suggestion,
    of,
    problem,
    with_edits,
)
from dataplane.core.config.registry import Key
from dataplane.core.config.resolve import (
    Contribution,
    Effective,
    Placed,
    effective,
    merged,
    naming,
)
from dataplane.core.config.secrets import shown
from dataplane.core.config.suggest import nearest
from dataplane.core.config.tree import MappingNode, Path, to_values
from dataplane.core.config.validate import Validated, validate
from dataplane.core.declaration import Declaration

TENANT = DocumentRef("tenant")
EMPTY = MappingNode(())


@dataclass(frozen=True, slots=True)
class Layer:
    """A document below the one that is checked: the server's or the organisation's default."""

    ref: DocumentRef
    text: bytes | str


@dataclass(frozen=True, slots=True)
class Context:
    """What a document is checked against.

    presets: visible to the tenant; of several versions, the first is what an unpinned name means.
    below: lower layers, lowest first. document: names the document under check. caching_upstream:
    the tenant's provider keeps a prompt cache.
    """

    components: Mapping[str, Declaration]
    presets: tuple[Preset, ...] = BUILT_IN
    below: tuple[Layer, ...] = ()
    document: DocumentRef = TENANT
    caching_upstream: bool = False


def resolve(validated: Validated, root: Key, context: Context) -> tuple[Effective, list[Problem]]:
    """The merged document, and what is wrong with its layers or across its keys."""
    found: list[Problem] = []
    contributions = []
    for layer in context.below:
        lower, problems = _contribution(layer.ref, layer.text, root)
        contributions.append(lower)
        found += problems
    contributions.append(Contribution(context.document, validated.leaves))
    preset, problems = _preset(contributions, root, context)
    found += problems
    written = merged(contributions, preset)
    sources = [layer.ref for layer in contributions] + ([preset.ref] if preset else [])
    resolved = effective(written, root, sources)
    found += _overridden(validated, preset)
    wrong = [error.path for error in of("error", [*validated.problems, *found])]
    found += rules(_merge(written, resolved, validated, context, wrong))
    return resolved, found


def _merge(
    written: dict[Path, Placed],
    resolved: Effective,
    validated: Validated,
    context: Context,
    wrong: list[str],
) -> Merge:
    return Merge(
        written=written,
        effective=resolved,
        components=context.components,
        checked=context.document,
        blocks=validated.blocks,
        caching_upstream=context.caching_upstream,
        wrong=frozenset(wrong),
    )


def _contribution(
    ref: DocumentRef, text: bytes | str, root: Key
) -> tuple[Contribution, list[Problem]]:
    """Another layer's leaves and errors; its lines are not those of the document under check."""
    parsed = parse(text)
    validated = validate(parsed.tree or EMPTY, root)
    errors = of("error", [*parsed.problems, *validated.problems])
    return Contribution(ref, validated.leaves), [_unplaced(error, ref) for error in errors]


def _preset(
    contributions: list[Contribution], root: Key, context: Context
) -> tuple[Contribution | None, list[Problem]]:
    named = naming(contributions)
    if named is None:
        return None, []
    index, reference = named
    preset = find(context.presets, reference)
    if preset is not None:
        ref = DocumentRef("preset", preset.name, preset.version)
        return _contribution(ref, preset.text, root)
    layer = contributions[index]
    missing = _no_preset(reference, layer, context.presets)
    return None, [missing if layer.ref == context.document else _unplaced(missing, layer.ref)]


def _no_preset(reference: str, layer: Contribution, presets: tuple[Preset, ...]) -> Problem:
    name, _ = split(reference)
    span = layer.leaves[("preset",)].span
    versions = [str(preset.version) for preset in presets if preset.name == name]
    if versions:
        facts = {"name": name, "version": reference.partition("@")[2], "known": ", ".join(versions)}
        found = problem("config.preset_version_not_found", ("preset",), span, **facts)
        return replace(found, value=shown(reference))
    known = list(dict.fromkeys(preset.name for preset in presets))
    near = nearest(name, known)
    fix = f"Did you mean {near[0]}?" if near else "Write one of these, or a pipeline of your own."
    facts = {
        "name": str(shown(name)),
        "known": ", ".join(known) or "none",
        "fix": fix,
    }
    found = problem("config.preset_not_found", ("preset",), span, **facts)
    suggestions = tuple(Suggestion(choice, "/preset") for choice in near)
    found = replace(found, value=shown(reference), suggestions=suggestions)
    return with_edits(found, "set", Edit("set", "/preset", value=near[0])) if near else found


def _overridden(validated: Validated, preset: Contribution | None) -> Iterator[Problem]:
    """Advice for a document that names a preset and writes a pipeline as well."""
    ours = validated.leaves.get(("pipeline",))
    theirs = preset.leaves.get(("pipeline",)) if preset else None
    if ours is None or theirs is None or preset is None or ("preset",) not in validated.leaves:
        return
    missing = [name for name in theirs.value if name not in ours.value]
    facts = {
        "preset": preset.ref.name,
        "would": ", ".join(theirs.value) or "an empty pipeline",
        "missing": ", ".join(missing) or "none",
    }
    yield problem("config.pipeline_overrides_preset", ("pipeline",), ours.key_span, **facts)


def identical_to_below(tree: MappingNode | None, root: Key, context: Context) -> Iterator[Problem]:
    if tree is None or not context.below:
        return
    layer = context.below[-1]
    lower = parse(layer.text).tree
    if lower == tree or (lower and to_values(lower) == to_values(tree)):
        yield problem("advice.identical_to_default", (), None, below=layer.ref.layer)


def _unplaced(found: Problem, ref: DocumentRef) -> Problem:
    return replace(
        found,
        line=None,
        column=None,
        column_utf16=None,
        end_line=None,
        end_column=None,
        document=ref,
    )
