"""cacheinject: place cache breakpoints on messages that have none; no text changes.

Source: 01-components.md 2.19.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from dataplane.core.port.declaration import Declaration, Kind, key


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ttl: Annotated[Literal["5m", "1h"], key("Lifetime that the breakpoints ask for.")] = "5m"


COMPONENT = Declaration(
    name="cacheinject",
    kind=Kind.ENVELOPE,
    summary="Places cache breakpoints where the client left some unused.",
    config=Config,
    lacks="the placement of breakpoints",
    dialects=("anthropic",),
    gates=(),
)
