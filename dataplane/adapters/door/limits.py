"""How much may go on at once: per tenant, in this process, and of large bodies in memory.

Everything is taken after authentication and before the body is asked for, and given back when
the request has ended. Source: 03-proxy-and-recovery.md 1.6.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Iterator

from dataplane.adapters.http import RefusedError
from dataplane.adapters.waiting import within
from dataplane.core import resource

_MINUTE = 60
_RESERVED_PART = 4  # one of so many parts of a limit
ROOM_WAIT_S = 5


class BodyRoom:
    """The place of one request's body among the large ones, once it turns out to be large."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._is_taken = False

    async def take(self) -> None:
        """Wait for a place. Raises RefusedError when none becomes free in time."""
        if self._is_taken:
            return
        try:
            with within(ROOM_WAIT_S):
                await self._places.acquire()
        except TimeoutError:
            raise RefusedError("overloaded") from None
        self._is_taken = True

    def release(self) -> None:
        if self._is_taken:
            self._is_taken = False
            self._places.release()


class Limits:
    """Counts what is running; one per process."""

    def __init__(self, *, big_body_slots: int) -> None:
        self._places = asyncio.Semaphore(big_body_slots)
        self._running: Counter[str] = Counter()
        self._pinging: Counter[str] = Counter()
        self._minutes: dict[str, tuple[int, int]] = {}

    def enter(self, tenant: str, allowed: resource.Limits, at: float) -> BodyRoom:
        """Count one request of a tenant until it leaves with its room. Raises RefusedError.

        at: seconds, wall clock. A request that is refused counts in neither limit.
        """
        if allowed.concurrency and self._running[tenant] >= allowed.concurrency:
            raise RefusedError("concurrency_limited")
        if allowed.rpm:
            self._charge(tenant, allowed.rpm, at)
        self._running[tenant] += 1
        return BodyRoom(self._places)

    def leave(self, tenant: str, room: BodyRoom) -> None:
        room.release()
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]

    @contextlib.contextmanager
    def spare(self, tenant: str, allowed: resource.Limits, at: float) -> Iterator[bool]:
        """Count one ping while the block lasts; False, and uncounted, when it finds no slack.

        A quarter of either limit, rounded down, is left to requests. A ping takes no place that a
        request is refused for: it ends when one of its thread arrives.
        """
        running = self._running[tenant] + self._pinging[tenant]
        if allowed.concurrency and running >= _unreserved(allowed.concurrency):
            yield False
            return
        self._pinging[tenant] += 1
        try:
            if allowed.rpm:
                self._charge(tenant, _unreserved(allowed.rpm), at)
        except RefusedError:
            yield False
        else:
            yield True
        finally:
            self._pinging[tenant] -= 1

    def _charge(self, tenant: str, rpm: int, at: float) -> None:
        now = int(at // _MINUTE)
        minute, count = self._minutes.get(tenant, (now, 0))
        if minute != now:
            count = 0
        if count >= rpm:
            left_s = math.ceil((now + 1) * _MINUTE - at)
            raise RefusedError("rate_limited", retry_after_s=max(1, left_s))
        self._minutes[tenant] = (now, count + 1)


def _unreserved(limit: int) -> int:
    return limit - limit // _RESERVED_PART
