"""Where each value of an effective document comes from, as JSON (04 §3.3)."""

from __future__ import annotations

from typing import Any

from dataplane.core.config.resolve import Effective, Origin


def origins_of(effective: Effective) -> dict[str, dict[str, Any]]:
    """JSON pointer to {layer, name, version, line}; line None where nobody wrote it."""
    return {path: as_json(origin) for path, origin in sorted(effective.origins.items())}


def as_json(origin: Origin) -> dict[str, Any]:
    ref = origin.ref
    return {"layer": ref.layer, "name": ref.name, "version": ref.version, "line": origin.line}
