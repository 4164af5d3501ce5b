"""What a document's `store` block means for a node (03-proxy-and-recovery.md 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dataplane.adapters.originals import StoreLimits
from dataplane.adapters.stores import DEFAULT_LIMITS, Backend

_KEYS = {
    "ttl_seconds": "ttl_s",
    "max_entries": "max_entries",
    "max_sessions": "max_sessions",
    "stash_max_bytes": "max_bytes",
}


class StoreUnavailableError(ValueError):
    """The document asks for a backend that this node does not have."""


def chosen(store: Mapping[str, Any]) -> tuple[Backend, StoreLimits]:
    """The backend and limits of a `store` block; keys that are absent keep the defaults."""
    if not store.get("enabled", True):
        return "off", DEFAULT_LIMITS["off"]
    backend = store.get("backend", "sqlite")
    if backend not in DEFAULT_LIMITS:
        raise StoreUnavailableError(f"This node has no {backend} store.")
    written = {field: store[key] for key, field in _KEYS.items() if store.get(key) is not None}
    return backend, replace(DEFAULT_LIMITS[backend], **written)
