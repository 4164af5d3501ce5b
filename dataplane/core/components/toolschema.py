"""toolschema: drop annotations of tool schemas that no model needs.

It takes no keys. Always on or never for a session: the prefix is written again once.
Source: 01-components.md 2.20.
"""

from __future__ import annotations

from dataplane.core.port.declaration import Declaration, Kind

COMPONENT = Declaration(
    name="toolschema",
    kind=Kind.ENVELOPE,
    summary="Drops titles, examples and other annotations from the schemas of tools.",
    config=None,
    lacks="the schema reducer",
    gates=(),
)
