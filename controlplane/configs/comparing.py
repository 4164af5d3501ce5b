"""What differs between two states of a configuration, in four views (04 §3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.audit.actions import Actor
from controlplane.configs.checking import checked_as
from controlplane.configs.effective_text import as_yaml
from controlplane.configs.models import ConfigDocument, ConfigVersion, EffectiveRevision
from dataplane.core.components import components
from dataplane.core.config import diff, lines
from dataplane.core.config.check import Checked
from dataplane.core.config.problems import DocumentRef
from dataplane.core.config.registry import registry
from dataplane.core.config.resolve import Effective, Origin, host_of
from dataplane.core.config.summary import Affected, Summary, summarise
from dataplane.core.config.tree import MappingNode


@dataclass(frozen=True, slots=True)
class Side:
    """One state. tree: what the text writes, None without a valid one; effective: what would run,
    None when it has errors.
    """

    label: str
    source: str
    tree: MappingNode | None
    effective: Effective | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """rows: the texts side by side. written: what the texts say; running: what would run.

    written and running are None when a side has errors, or no text of its own.
    """

    left: str
    right: str
    rows: list[lines.Row]
    written: list[diff.Change] | None
    running: list[diff.Change] | None
    summary: Summary

    @property
    def unified(self) -> list[str]:
        return list(lines.unified(self.rows))


def text_side(document: ConfigDocument, source: str, label: str, by: Actor | None = None) -> Side:
    """A text as it would stand in the document."""
    return checked_side(checked_as(document, source, by), source, label)


def checked_side(checked: Checked, source: str, label: str) -> Side:
    is_valid = not checked.errors
    return Side(label, source, checked.tree if is_valid else None, checked.effective)


def version_side(version: ConfigVersion) -> Side:
    """A tombstone is an empty text, above which the layers below count."""
    label = f"version {version.number}"
    if version.is_tombstone:
        return Side(label, "", MappingNode(()), None)
    return text_side(version.document, version.source, label)


def revision_side(revision: EffectiveRevision) -> Side:
    """What a tenant ran at that time, as it was stored."""
    effective = effective_of(revision)
    text = as_yaml(effective.document, revision.origins)
    return Side(f"revision {revision.number}", text, None, effective)


def effective_of(revision: EffectiveRevision) -> Effective:
    return Effective(
        document=revision.effective,
        host=host_of(revision.effective),
        origins={path: _origin(said) for path, said in revision.origins.items()},
        ignored={},
        effective_hash=revision.effective_hash,
    )


def _origin(said: Mapping[str, Any]) -> Origin:
    return Origin(DocumentRef(said["layer"], said["name"], said["version"]), said["line"])


@dataclass(frozen=True, slots=True)
class Difference:
    """written, running: as in a comparison, without the lines, which take longest."""

    written: list[diff.Change] | None
    running: list[diff.Change] | None
    summary: Summary


def difference(left: Side, right: Side, affected: Affected | None = None) -> Difference:
    known = components()
    root = registry(known)
    written = running = None
    if left.tree is not None and right.tree is not None:
        written = diff.semantic(left.tree, right.tree, root, known)
    if left.effective is not None and right.effective is not None:
        running = diff.between(left.effective, right.effective, root, known)
    differ = left.source != right.source
    changes: Sequence[diff.Change] | None = written if running is None else running
    if changes is None and not differ:
        changes = ()
    pipeline = right.effective.pipeline if right.effective else []
    said = summarise(changes, pipeline, root, known, affected, texts_differ=differ)
    return Difference(written, running, said)


def compare(left: Side, right: Side, affected: Affected | None = None) -> Comparison:
    found = difference(left, right, affected)
    rows = lines.rows(left.source, right.source)
    return Comparison(left.label, right.label, rows, found.written, found.running, found.summary)
