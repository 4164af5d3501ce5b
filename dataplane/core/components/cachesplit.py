"""cachesplit: let the volatile tail of a system prompt change without breaking the cached head.

The component takes no keys and decides nothing about tool outputs: its presence in the pipeline
tells the Anthropic codec to split the first system block that has a split point. The second
block carries no cache breakpoint. Source: 01-components.md 2.18.
"""

from __future__ import annotations

from dataplane.core.declaration import Declaration, Kind

SMALLEST_STABLE_BYTES = 4096
_VOLATILE = (
    "\nRecent commits:\n",
    "\nCurrent branch: ",
    "\ngitStatus:",
    "\nHere is a snapshot of the current directory",
)


def split_point(text: str) -> int | None:
    """Where the volatile part of a system text begins, as an index into text; None for nowhere.

    It begins behind the new-line before the earliest volatile heading. What comes before must be
    at least SMALLEST_STABLE_BYTES of UTF-8, else the provider would not cache it.
    """
    starts = [at for at in map(text.find, _VOLATILE) if at >= 0]
    if not starts:
        return None
    cut = min(starts) + 1
    return cut if len(text[:cut].encode("utf-8", "replace")) >= SMALLEST_STABLE_BYTES else None


COMPONENT = Declaration(
    name="cachesplit",
    kind=Kind.ENVELOPE,
    summary="Splits the system prompt so that its volatile tail does not spoil the cached head.",
    config=None,
    gates=(),
)
