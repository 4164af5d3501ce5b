"""From one checked document to the merge it takes part in: the layers below it and its preset.

Source: 04-controlplane-and-dashboard.md 2.5 (references) and 3.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dataplane.core.config import deployment
from dataplane.core.config.across import rules
from dataplane.core.config.chain import Reference, chain, unplaced
from dataplane.core.config.deployment import ANY_POLICY, NOWHERE, Deployment, Policy
from dataplane.core.config.merge import Merge
from dataplane.core.config.parse import parse
from dataplane.core.config.presets import BUILT_IN, Preset, split
from dataplane.core.config.problems import (
    DocumentRef,
    Problem,
    of,
    problem,
)
from dataplane.core.config.registry import Key, registry
from dataplane.core.config.resolve import (
    Contribution,
    Effective,
    Placed,
    effective,
    merged,
    naming,
)
from dataplane.core.config.tree import MappingNode, Path, to_values
from dataplane.core.config.validate import Validated, validate
from dataplane.core.port.declaration import Declaration

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
    below: lower layers, lowest first; a preset has none. document: names the document under
    check. caching_upstream: the tenant's provider keeps a prompt cache. named_before: the preset
    that the document named in its last version. serving: the hash of the effective document that
    is in force; empty for none.
    """

    components: Mapping[str, Declaration]
    presets: tuple[Preset, ...] = BUILT_IN
    below: tuple[Layer, ...] = ()
    document: DocumentRef = TENANT
    caching_upstream: bool = False
    policy: Policy = ANY_POLICY
    here: Deployment = NOWHERE
    named_before: str = ""
    serving: str = ""

    @property
    def is_preset(self) -> bool:
        """Whether the document under check is a preset."""
        return self.document.layer == "preset"


def resolve(validated: Validated, root: Key, context: Context) -> tuple[Effective, list[Problem]]:
    """The merged document, and what is wrong with its layers or across its keys."""
    found: list[Problem] = []
    contributions = []
    for layer in () if context.is_preset else context.below:
        lower, problems = _contribution(layer.ref, layer.text, root)
        contributions.append(lower)
        found += problems
    contributions.append(Contribution(context.document, validated.leaves))
    presets, problems = _presets(contributions, context)
    found += problems
    written = merged(contributions, presets)
    sources = [layer.ref for layer in (*contributions, *reversed(presets))]
    resolved = effective(written, root, sources)
    if presets and not context.is_preset:
        found += _overridden(validated, presets)
    wrong = [error.path for error in of("error", [*validated.problems, *found])]
    merge = _merge(written, resolved, validated, context, wrong)
    merge = dataclasses.replace(merge, naming=_naming(contributions))
    found += rules(merge)
    found += deployment.rules(merge, context.policy, context.here)
    if context.serving not in ("", resolved.effective_hash):
        found.append(problem("advice.frozen_decisions_discarded", (), None))
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
        one_way=context.policy.irreversible_marker_modes,
    )


def _naming(contributions: list[Contribution]) -> Placed | None:
    """Where the preset that is in force is named."""
    named = naming(contributions)
    if named is None:
        return None
    layer = contributions[named[0]]
    return Placed(layer.leaves[("preset",)], layer.ref)


def _contribution(
    ref: DocumentRef, text: bytes | str, root: Key
) -> tuple[Contribution, list[Problem]]:
    """Another layer's leaves and errors; its lines are not those of the document under check."""
    parsed = parse(text)
    validated = validate(parsed.tree or EMPTY, root)
    errors = of("error", [*parsed.problems, *validated.problems])
    return Contribution(ref, validated.leaves), [unplaced(error, ref) for error in errors]


def _presets(
    contributions: list[Contribution], context: Context
) -> tuple[list[Contribution], list[Problem]]:
    """The preset in force behind those that it extends; of a preset, those that it extends."""
    if context.is_preset:
        layer, key = contributions[-1], "extends"
    elif named := naming(contributions):
        layer, key = contributions[named[0]], "preset"
    else:
        return [], []
    leaf = layer.leaves.get((key,))
    if leaf is None:
        return [], []
    reference = Reference(leaf.value, key, leaf.span, layer.ref)
    own = context.document.name if context.is_preset else ""
    links, found = chain(reference, context.presets, own=own)
    found += _archived(reference, links[-1:], context)
    if layer.ref != context.document:
        found = [unplaced(problem, layer.ref) for problem in found]
    root = registry(context.components, preset=True)
    presets = []
    for preset in links:
        ref = DocumentRef("preset", preset.name, preset.version)
        contribution, problems = _contribution(ref, preset.text, root)
        presets.append(contribution)
        found += problems
    return presets, found


def _archived(reference: Reference, named: Sequence[Preset], context: Context) -> Iterator[Problem]:
    for preset in named:
        if preset.archived and preset.name != split(context.named_before)[0]:
            path = (reference.key,)
            yield problem("config.preset_archived", path, reference.span, name=preset.name)


def _overridden(validated: Validated, presets: list[Contribution]) -> Iterator[Problem]:
    """Advice for a document that names a preset and writes a pipeline as well."""
    ours = validated.leaves.get(("pipeline",))
    theirs = next(
        (one.leaves[("pipeline",)] for one in reversed(presets) if ("pipeline",) in one.leaves),
        None,
    )
    if ours is None or theirs is None or ("preset",) not in validated.leaves:
        return
    missing = [name for name in theirs.value if name not in ours.value]
    facts = {
        "preset": presets[-1].ref.name,
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
