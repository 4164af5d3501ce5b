"""The files of all tenants, each made or checked once, and again when something is wrong.

Source: 03-proxy-and-recovery.md 5.6, 5.9. Used on the event loop; the work is done by a pool.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from dataplane.adapters.stores import sqlite_stash
from dataplane.adapters.stores.answers import Lookup
from dataplane.adapters.stores.cipher import PLAIN, Cipher
from dataplane.adapters.stores.originals import StoreLimits
from dataplane.adapters.stores.sqlite_file import (
    Durability,
    connect,
    connect_read_only,
    prepare,
    store_path,
    upgrade,
)
from dataplane.adapters.stores.sqlite_keys import unlock
from dataplane.core.effects import Recall
from dataplane.encryption import StoreEncryption


@dataclass(frozen=True, slots=True)
class TenantFile:
    """A file that can be opened; replaced: it took the place of a damaged one."""

    path: Path
    cipher: Cipher = PLAIN
    replaced: bool = False

    def find(self, wanted: Recall, limits: StoreLimits) -> Lookup:
        """Called by a reader's thread."""
        with contextlib.closing(connect_read_only(self.path)) as connection:
            connection.execute("BEGIN")  # original, owner and ledger as of one moment
            return sqlite_stash.find(connection, wanted, limits, self.cipher)


class TenantFiles:
    """told: of every file that was made or checked."""

    def __init__(
        self,
        state_dir: Path,
        durability: Durability,
        encryption: StoreEncryption | None,
        *,
        pool: Executor,
        told: Callable[[str, TenantFile], None],
    ) -> None:
        self._state_dir, self._durability, self._encryption = state_dir, durability, encryption
        self._pool, self._told = pool, told
        self._prepared: dict[str, asyncio.Future[TenantFile]] = {}
        self._doubted: set[str] = set()
        self._barred: set[str] = set()

    async def ready(self, tenant: str, at: float) -> TenantFile:
        """A tenant's file; the first caller waits until it is checked. Raises OSError,
        sqlite3.Error, and ValueError for a tenant id that cannot name a directory.
        """
        path = store_path(self._state_dir, tenant)
        if tenant in self._barred:
            raise OSError("the tenant is being purged")
        prepared = self._prepared.get(tenant)
        if prepared is None:
            loop = asyncio.get_running_loop()
            is_doubted = tenant in self._doubted
            prepared = loop.run_in_executor(self._pool, self._open, tenant, path, at, is_doubted)
            self._prepared[tenant] = prepared
            prepared.add_done_callback(lambda done: self._note(tenant, done))
        return await asyncio.shield(prepared)

    def known(self, tenant: str) -> TenantFile:
        """The file as it was last prepared, for one that need not wait."""
        prepared = self._prepared.get(tenant)
        if prepared is not None and prepared.done() and prepared.exception() is None:
            return prepared.result()
        return TenantFile(store_path(self._state_dir, tenant))

    def doubt(self, tenant: str) -> None:
        """Something is wrong with the file: look at it closely before its next use."""
        self._prepared.pop(tenant, None)
        self._doubted.add(tenant)

    @contextlib.asynccontextmanager
    async def barred(self, tenant: str) -> AsyncIterator[Path]:
        """Nobody gets the file meanwhile, and afterwards it is looked for anew."""
        self._barred.add(tenant)
        try:
            if (prepared := self._prepared.pop(tenant, None)) is not None:
                await asyncio.wait([prepared])
            yield store_path(self._state_dir, tenant)
        finally:
            self._prepared.pop(tenant, None)
            self._barred.discard(tenant)

    def _open(self, tenant: str, path: Path, at: float, is_doubted: bool) -> TenantFile:  # noqa: FBT001
        replaced = prepare(path, at, thorough=is_doubted)
        with contextlib.closing(connect(path, self._durability)) as connection:
            upgrade(connection)
            return TenantFile(path, unlock(connection, tenant, self._encryption), replaced)

    def _note(self, tenant: str, done: asyncio.Future[TenantFile]) -> None:
        if done.cancelled() or done.exception():
            self._prepared.pop(tenant, None)  # the next request tries again
        else:
            self._doubted.discard(tenant)
            self._told(tenant, done.result())
