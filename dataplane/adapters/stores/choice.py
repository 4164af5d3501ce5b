"""Which stores a node has, and what a document's `store` block means for it (03 §5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dataplane.adapters.stores import (
    DEFAULT_LIMITS,
    Backend,
    RedisStore,
    StoreSet,
    StoreUnavailableError,
)
from dataplane.adapters.stores.minted import MintedIds
from dataplane.adapters.stores.originals import StoreLimits
from dataplane.adapters.stores.redis_keys import REALM, SHADOW_REALM
from dataplane.settings import Settings, SharedStore

_KEYS = {
    "ttl_seconds": "ttl_s",
    "max_entries": "max_entries",
    "max_sessions": "max_sessions",
    "stash_ttl_seconds": "stash_ttl_s",
    "stash_max_bytes": "max_bytes",
}


def chosen(store: Mapping[str, Any]) -> tuple[Backend, StoreLimits]:
    """The backend and limits of a `store` block; keys that are absent keep the defaults."""
    if not store.get("enabled", True):
        return "off", DEFAULT_LIMITS["off"]
    backend = store.get("backend", "sqlite")
    if backend not in DEFAULT_LIMITS:
        raise StoreUnavailableError(f"This node has no {backend} store.")
    written = {field: store[key] for key, field in _KEYS.items() if store.get(key) is not None}
    return backend, replace(DEFAULT_LIMITS[backend], **written)


def store_set(settings: Settings, *, shadow: bool = False) -> StoreSet:
    """The stores of one node. shadow: those of what is only projected, apart from the others."""
    made = StoreSet(
        settings.shadow_dir if shadow else settings.state_dir,
        durability=settings.store_durability,
        timeout_s=settings.store_commit_timeout_ms / 1000,
        sweep_every_s=settings.store_sweep_every_s,
        encryption=settings.store_encryption,
        shared=_shared(settings, settings.store_redis, shadow) if settings.store_redis else None,
    )
    if not shadow:
        made.minted = MintedIds(settings.state_dir / "ledger.db")
    return made


def _shared(settings: Settings, place: SharedStore, shadow: bool) -> RedisStore:  # noqa: FBT001
    return RedisStore(
        place,
        realm=SHADOW_REALM if shadow else REALM,
        sweep_every_s=settings.store_sweep_every_s,
        encryption=settings.store_encryption,
    )
