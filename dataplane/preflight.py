"""What a node would not start with, found out before anything is made or shown."""

from __future__ import annotations

import asyncio
import tempfile

from dataplane.adapters.stores.disk import require_local
from dataplane.adapters.stores.redis_link import Link, StoreRefusedError
from dataplane.files import private_folder
from dataplane.settings import Settings, SettingsError, SharedStore


def refuse_unusable(settings: Settings) -> None:
    """Raises SettingsError that names what cannot be used: the state directory, the Redis.

    A Redis that does not answer now may later; one that must not keep originals never may.
    """
    try:
        private_folder(settings.state_dir)
        with tempfile.TemporaryFile(dir=settings.state_dir) as file:
            file.write(b"\0")
        require_local(settings.state_dir)
    except OSError as problem:
        raise SettingsError(f"HEADRACE_STATE_DIR cannot be used: {problem}") from problem
    if settings.store_redis is not None:
        asyncio.run(_refuse_redis(settings.store_redis))


async def _refuse_redis(place: SharedStore) -> None:
    link = Link(place)
    try:
        await link.ready()
    except StoreRefusedError as problem:
        raise SettingsError(f"HEADRACE_STORE_REDIS_URL: {problem}.") from problem
    except OSError:
        pass  # whoever needs it looks again
    finally:
        await link.close()
