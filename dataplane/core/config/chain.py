"""The preset that a document names, and those that it extends, the lowest first.

Source: 04-controlplane-and-dashboard.md 2.5 (references) and 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dataplane.core.config.parse import parse
from dataplane.core.config.presets import Preset, find, split
from dataplane.core.config.problems import (
    DocumentRef,
    Edit,
    Problem,
    Suggestion,
    problem,
    with_edits,
)
from dataplane.core.config.suggest import nearest
from dataplane.core.config.tree import MappingNode, ScalarNode, Span
from dataplane.core.text.secrets import shown

MAX_CHAIN = 4


@dataclass(frozen=True, slots=True)
class Reference:
    """A preset as a document names it. key: `preset` or `extends`; ref: the document."""

    text: str
    key: str
    span: Span | None
    ref: DocumentRef


def chain(
    named: Reference, presets: Sequence[Preset], *, own: str = ""
) -> tuple[list[Preset], list[Problem]]:
    """The presets behind a reference, the lowest first, at most MAX_CHAIN of them.

    own: the preset under check, which none of them may extend. What is wrong is said at the
    reference itself, whichever link of the chain it is about.
    """
    links: list[Preset] = []
    names = [own] if own else []
    reference: str | None = named.text
    while reference is not None:
        name, _ = split(reference)
        if name in names or len(links) == MAX_CHAIN:
            what = "lead back to one another" if name in names else "are too many"
            return [], [_cycle(named, what, [*names, name])]
        preset = find(presets, reference)
        if preset is None:
            return links[::-1], [_no_preset(reference, named, presets)]
        links.append(preset)
        names.append(name)
        reference = extended_by(preset)
    return links[::-1], []


def extended_by(preset: Preset) -> str | None:
    """What a preset's text names in `extends`."""
    tree = parse(preset.text).tree
    entry = tree.get("extends") if isinstance(tree, MappingNode) else None
    value = entry.value.value if entry and isinstance(entry.value, ScalarNode) else None
    return value if isinstance(value, str) else None


def unplaced(found: Problem, ref: DocumentRef) -> Problem:
    """The same problem of another document, whose lines are not those of the one under check."""
    return replace(
        found,
        line=None,
        column=None,
        column_utf16=None,
        end_line=None,
        end_column=None,
        document=ref,
    )


def _cycle(named: Reference, what: str, names: list[str]) -> Problem:
    facts = {"name": named.text, "what": what, "chain": " → ".join(names), "limit": MAX_CHAIN}
    found = problem("config.preset_cycle", (named.key,), named.span, **facts)
    return replace(found, value=shown(named.text))


def _no_preset(reference: str, named: Reference, presets: Sequence[Preset]) -> Problem:
    name, _ = split(reference)
    path = (named.key,)
    versions = [str(preset.version) for preset in presets if preset.name == name]
    if versions:
        facts = {"name": name, "version": reference.partition("@")[2], "known": ", ".join(versions)}
        found = problem("config.preset_version_not_found", path, named.span, **facts)
        return replace(found, value=shown(reference))
    known = list(dict.fromkeys(preset.name for preset in presets if not preset.archived))
    near = nearest(name, known)
    fix = f"Did you mean {near[0]}?" if near else "Write one of these, or a pipeline of your own."
    facts = {"name": str(shown(name)), "known": ", ".join(known) or "none", "fix": fix}
    found = problem("config.preset_not_found", path, named.span, **facts)
    at = f"/{named.key}"
    found = replace(
        found,
        value=shown(reference),
        suggestions=tuple(Suggestion(choice, at) for choice in near),
    )
    if near and reference == named.text:
        return with_edits(found, "set", Edit("set", at, value=near[0]))
    return found
