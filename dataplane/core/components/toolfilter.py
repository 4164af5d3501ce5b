"""toolfilter: drop declarations of tools by name, unless the request shows that it needs them.

Source: 01-components.md 2.21.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.declaration import Declaration, Kind, key

ToolName = Annotated[
    str,
    key("An exact name, or mcp__SERVER for all tools of that server; a pattern would match "
        "more tomorrow than today."),
    msgspec.Meta(pattern="^[A-Za-z0-9._:/-]+$", min_length=1, max_length=128),
]  # fmt: skip


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    remove: Annotated[list[ToolName], key("Tools whose declarations are dropped.")] = []


COMPONENT = Declaration(
    name="toolfilter",
    kind=Kind.ENVELOPE,
    summary="Drops the declarations of tools that are named.",
    config=Config,
    lacks="the filter of declarations",
    gates=(),
)
