"""The way to the Redis of the store: what it must promise, the script, and when to leave it alone.

Source: 03-proxy-and-recovery.md 5.7. A Redis that evicts, or that keeps nothing over a restart,
loses originals that live markers point to, so it is refused by name before it is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError

from dataplane.settings import SharedStore

SCRIPT = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(__file__).with_name("lua").glob("*.lua"))
)
CONNECTIONS = 1024  # the library's own default of 100 fails the 101st request at once
CONNECT_TIMEOUT_S = 0.5
REMOVED_AT_ONCE = 1000
FAILURES_TO_OPEN = 5
WITHIN_S = 10.0
OPEN_S = 5.0


class Message(Protocol):
    """The arguments of one call; values: bytes that are no text, beside them."""

    arguments: dict[str, Any]
    values: list[bytes]


class StoreRefusedError(OSError):
    """This Redis must not keep originals; code: redis_evicts, redis_forgets, redis_unreadable."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class ShortCountError(OSError):
    """The commit is in Redis, and not in as many append-only files as was asked."""


class LeftAloneError(OSError):
    """Redis failed several times just now; nobody asks it for a moment."""


class StaleKeysError(OSError):
    """The tenant has other data keys by now: it was purged, or sealed for the first time."""


class Link:
    """One node's connections. Raises OSError for everything that is wrong with the other end."""

    def __init__(self, place: SharedStore) -> None:
        self._place = place
        self._redis: Redis = Redis.from_url(
            place.url,
            max_connections=CONNECTIONS,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._sha = ""
        self._has_waitaof = False
        self._is_checked = False
        self._checking = asyncio.Lock()
        self._failures: deque[float] = deque(maxlen=FAILURES_TO_OPEN)
        self._open_until = 0.0

    async def close(self) -> None:
        await self._redis.aclose()

    async def ready(self) -> None:
        """Raises StoreRefusedError, and OSError when nobody answers or nobody did lately."""
        if time.monotonic() < self._open_until:
            raise LeftAloneError("Redis failed several times just now")
        if self._is_checked:
            return
        async with self._checking:
            if not self._is_checked:
                with _as_os_error():
                    await self._check()
                self._is_checked = True

    async def run(
        self, tenant_key: str, call: str, message: Message, *, within_ms: int = 0
    ) -> list[Any]:
        """One call of the script, atomically. within_ms: answered once it is in the append-only
        file, with ShortCountError after so long; 0: answered at once.

        Both commands go over one connection, for the second vouches only for what its own
        connection has written. Where there is none, every write is in the file when it is answered.
        """
        packed = msgspec.msgpack.encode(message.arguments)
        command = ("EVALSHA", self._sha, 1, tenant_key, call, packed, *message.values)
        if not within_ms or not self._has_waitaof:
            [answer] = await self._execute(command)
            return list(answer)
        answer, counts = await self._execute(
            command, ("WAITAOF", 1, self._place.replicas, within_ms)
        )
        if counts[0] < 1 or counts[1] < self._place.replicas:
            raise ShortCountError(f"append-only files that have it: {counts}")
        return list(answer)

    async def command(self, *command: Any) -> Any:
        with _as_os_error():
            return await self._redis.execute_command(*command)  # type: ignore[no-untyped-call]

    async def remove(self, pattern: str, *, but: str) -> None:
        """Unlink every key that matches, except one."""
        with _as_os_error():
            found: list[Any] = []
            async for key in self._redis.scan_iter(match=pattern, count=REMOVED_AT_ONCE):
                if key != but.encode():
                    found.append(key)
                if len(found) == REMOVED_AT_ONCE:
                    await self._redis.unlink(*found)
                    found = []
            if found:
                await self._redis.unlink(*found)

    async def compare_and_set(self, key: str, known: bytes | None, wanted: bytes) -> bool:
        """Replace a value that is still the known one."""
        with _as_os_error():
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(key)
                if await self._redis.get(key) != known:
                    return False
                pipe.multi()  # type: ignore[no-untyped-call]
                pipe.set(key, wanted)
                with contextlib.suppress(RedisError):
                    await pipe.execute()
                    return True
        return False

    def failed(self) -> None:
        """Count a failure; after several in a short time Redis is left alone for a while. One that
        comes back may be another one: it is checked again.
        """
        self._is_checked = False
        now = time.monotonic()
        self._failures.append(now)
        if len(self._failures) == FAILURES_TO_OPEN and now - self._failures[0] <= WITHIN_S:
            self._open_until = now + OPEN_S
            self._failures.clear()

    async def _execute(self, *commands: tuple[Any, ...]) -> list[Any]:
        with _as_os_error():
            answers = await self._pipelined(commands)
            if isinstance(answers[0], NoScriptError):  # Redis was restarted
                await self._redis.script_load(SCRIPT)
                answers = await self._pipelined(commands)
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            return answers

    async def _pipelined(self, commands: tuple[tuple[Any, ...], ...]) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for command in commands:
                pipe.execute_command(*command)
            return await pipe.execute(raise_on_error=False)

    async def _check(self) -> None:
        policy, is_appending, fsync = await self._configuration()
        if policy != "noeviction":
            raise StoreRefusedError(
                "redis_evicts",
                f"maxmemory-policy is {policy}; it must be noeviction, or originals disappear "
                "while markers still point to them",
            )
        try:
            await self.command("WAITAOF", 0, 0, 1)
            self._has_waitaof = True
        except OSError:
            self._has_waitaof = False
        if not is_appending or fsync == "no" or not (self._has_waitaof or fsync == "always"):
            raise StoreRefusedError(
                "redis_forgets",
                f"appendonly is {'yes' if is_appending else 'no'} and appendfsync {fsync}; "
                "needed are appendonly yes and appendfsync everysec or always, before Redis 7.2 "
                "always",
            )
        if self._place.replicas and not self._has_waitaof:
            raise StoreRefusedError("redis_forgets", "replicas are waited for from Redis 7.2 on")
        self._sha = await self._redis.script_load(SCRIPT)

    async def _configuration(self) -> tuple[str, bool, str]:
        """maxmemory-policy, whether appendonly is on, appendfsync."""
        names = ("maxmemory-policy", "appendonly", "appendfsync")
        try:
            found = await self._redis.config_get(*names)
        except ResponseError as error:
            if not self._place.assume_noeviction:
                raise StoreRefusedError(
                    "redis_unreadable",
                    f"CONFIG GET is denied ({error}); set HEADRACE_STORE_REDIS_ASSUME_NOEVICTION=1 "
                    "if its maxmemory-policy is noeviction and appendfsync always",
                ) from error
            return "noeviction", True, "always"
        policy, appendonly, fsync = (found.get(name) or "" for name in names)
        return policy, appendonly == "yes", fsync


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        if "STALE" in str(error):
            raise StaleKeysError(str(error)) from error
        raise OSError(f"Redis: {error}") from error
