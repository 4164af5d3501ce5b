"""What a change of one document does to what runs, in sentences (04 §3.5)."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.accounts.models import User
from controlplane.configs.comparing import (
    Comparison,
    Difference,
    Side,
    difference,
    text_side,
)
from controlplane.configs.models import ConfigDocument
from dataplane.core.config.diff import Impact

MEANS: dict[Impact, tuple[str, str]] = {
    "prefix_break": ("rewrites cached prefixes once", "watch"),
    "spends": ("spends on model calls", "watch"),
    "lossy": ("removes content", "watch"),
    "injects_tool": ("adds a tool to requests", "watch"),
    "irreversible": ("cannot be undone for what it removes", "alarm"),
    "blocks": ("stops other components", "alarm"),
    "behaviour": ("changes what the gateway does", "watch"),
}


@dataclass(frozen=True, slots=True)
class Flag:
    words: str
    tone: str


@dataclass(frozen=True, slots=True)
class Summary:
    """against: what it is compared with, in words."""

    sentences: tuple[str, ...]
    flags: tuple[Flag, ...]
    against: str = ""


def summary(
    document: ConfigDocument, before: str, after: str, by: User, *, against: str = ""
) -> Summary | None:
    """None when one of the two does not validate, so that nothing can be said of what it runs.

    An empty text stands for the layers below alone.
    """
    return summary_of(document, before, text_side(document, after, "", by), by, against=against)


def summary_of(
    document: ConfigDocument, before: str, after: Side, by: User, *, against: str = ""
) -> Summary | None:
    """The same of a text that was checked already."""
    return told(difference(text_side(document, before, "", by), after), against)


def told(found: Difference | Comparison, against: str = "") -> Summary | None:
    if found.running is None:
        return None
    flags = tuple(Flag(*MEANS[flag]) for flag in found.summary.impact)
    return Summary(found.summary.sentences, flags, against)
