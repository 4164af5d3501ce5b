"""A key that was removed or is refused here: the problem, and the edits that mend the document.

Source: 04-controlplane-and-dashboard.md 2.4, 2.6 and 2.7.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from dataplane.core.config.problems import Edit, Problem, problem, with_edits
from dataplane.core.config.tree import (
    Entry,
    MappingNode,
    Path,
    ScalarNode,
    SequenceNode,
    pointer,
    spoken,
)
from dataplane.core.config.unknown import Unknown
from dataplane.core.port.declaration import Refusal, Successor
from dataplane.core.text.secrets import shown


def refusal(why: Refusal, entry: Entry, path: Path, unknown: Unknown) -> Problem:
    """config.removed_key or config.refused_key, with edits against the document as it stands."""
    facts = {"name": spoken(path), "reason": why.reason, "fix": why.replacement}
    found = problem(why.code, path, entry.key_span, **facts)
    value = entry.value.value if isinstance(entry.value, ScalarNode) else None
    found = replace(found, value=shown(value))
    to: Path = ("components", *why.moved_to.split("."))
    if why.moved_to and not unknown.is_written(to):
        return with_edits(found, "move", Edit("move", found.path, to=pointer(to)))
    kind: Literal["move", "delete"] = "delete"
    edits = [Edit("delete", found.path)]
    if why.successor is not None and value is why.successor.when:
        handed = _handed_over(why.successor, str(path[1]), unknown.tree)
        kind = "move" if handed else "delete"
        edits += handed
    return with_edits(found, kind, *edits)


def _handed_over(successor: Successor, old: str, tree: MappingNode) -> list[Edit]:
    """Edits of the written pipeline; none when it is not written here, or has it already."""
    written = tree.get("pipeline")
    if written is None or not isinstance(written.value, SequenceNode):
        return []
    names = [item.value for item in written.value.items if isinstance(item, ScalarNode)]
    edits = []
    if old in names and successor.component not in names:
        edits.append(Edit("insert_after", "/pipeline", anchor=old, value=successor.component))
    if old in names and successor.replaces:
        edits.append(Edit("delete", f"/pipeline/{names.index(old)}"))
    return edits
