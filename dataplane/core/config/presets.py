"""The built-in presets that this build can run, as documents.

A preset whose components are not all here is not listed: naming it is config.preset_not_found.
Source: 04-controlplane-and-dashboard.md section 3.1; 01-components.md section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_VERSION = re.compile("[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Preset:
    """One version of a preset. text: YAML. note: one sentence for the picker."""

    name: str
    version: int
    text: str
    note: str = ""


BUILT_IN = (
    Preset("off", 1, "pipeline: []\n", "Pass-through; the control arm of every comparison."),
    Preset(
        "cache",
        1,
        "pipeline:\n  - cachesplit\n",
        "No content dropped, no markers, no injected tool.",
    ),
)


def split(reference: str) -> tuple[str, int | None]:
    """ "name" or "name@3": the name, and the version when one is pinned (0 for an odd one)."""
    name, at, version = reference.partition("@")
    if not at:
        return name, None
    return name, int(version) if _VERSION.fullmatch(version) else 0


def find(presets: Iterable[Preset], reference: str) -> Preset | None:
    """The preset that a document names; of an unpinned name, the first that is listed."""
    name, version = split(reference)
    return next(
        (preset for preset in presets if preset.name == name and version in (None, preset.version)),
        None,
    )
