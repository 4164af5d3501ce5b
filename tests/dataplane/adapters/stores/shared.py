"""A store in Redis of a test's own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from dataplane.adapters.stores.redis import RedisStore
from dataplane.encryption import StoreEncryption
from dataplane.settings import SharedStore
from tests.dataplane.adapters.stores.builders import LIMITS
from tests.patience import PATIENCE_S


@contextlib.asynccontextmanager
async def opened(
    url: str,
    *,
    timeout_s: float = PATIENCE_S,
    replicas: int = 0,
    encryption: StoreEncryption | None = None,
    sweep_every_s: float = 60.0,
) -> AsyncIterator[RedisStore]:
    store = RedisStore(
        SharedStore(url, replicas, commit_timeout_ms=int(timeout_s * 1000)),
        limits=LIMITS,
        encryption=encryption,
        sweep_every_s=sweep_every_s,
    )
    await store.start()
    try:
        yield store
    finally:
        await store.close()
