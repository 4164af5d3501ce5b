"""One per process: looks into the log and hands everybody what is new, built once for each view.

The log is the source; a wake-up only says: look now. Without one the hub looks by itself, so a
lost wake-up costs a moment and never a message. Source: 04-controlplane-and-dashboard.md 6.4;
06-stack.md 11 (one snapshot per tick for everybody).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from django.db import DatabaseError, close_old_connections

from controlplane.live.messages import Frame, Message, control
from controlplane.live.subscriber import Subscriber, View
from controlplane.release import identity
from dataplane.tasks import ended

log = logging.getLogger("headrace.live")

LOOK_S = 0.5  # how soon a message of another process is seen; one of this process wakes
SESSIONS_S = 5.0
MOST_READ = 1_000  # messages in one look; the rest follow in the next
MOST_REPLAYED = 2_000  # further behind than this, reading the snapshots is cheaper
MOST_STREAMS = 500
MOST_PER_PERSON = 6
T = TypeVar("T")


class Log(Protocol):
    """The durable log, in the order of seq."""

    def newest(self) -> int: ...

    def oldest(self) -> int: ...

    def since(self, seq: int, limit: int) -> Sequence[Message]: ...


Build = Callable[[View, Sequence[Message]], Sequence[Frame]]
# sids of browser sessions to those of them that still are signed in.
Open = Callable[[frozenset[str]], frozenset[str]]


class TooManyError(Exception):
    """No room for one more stream, of this person or in this process."""


class Hub:
    """The readers of this process. Everything is called on one event loop."""

    def __init__(self, log_: Log, build: Build, still_open: Open, *, look_s: float = LOOK_S):
        self._log = log_
        self._build = build
        self._still_open = still_open
        self._look_s = look_s
        self._readers: set[Subscriber] = set()
        self._seen = 0
        self._is_following = False
        self._looking = asyncio.Lock()
        self._woken = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.is_closing = False

    def __len__(self) -> int:
        return len(self._readers)

    def clients(self) -> dict[str, int]:
        """Readers by what they are; from any thread."""
        raw = [reader.view.raw for reader in list(self._readers)]
        return {"sse": raw.count(False), "websocket": raw.count(True)}

    # ---- life -------------------------------------------------------------------------------

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        for forever in (self._follow(), self._watch_sessions()):
            self._tasks.append(self._loop.create_task(forever))

    def farewell(self, reason: str = "deploy") -> None:
        """Ask everybody to come back elsewhere; from any thread, and from a signal's code."""
        self.is_closing = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._dismiss, reason)

    async def stop(self) -> None:
        self.is_closing = True
        self._dismiss("deploy")
        await ended(*self._tasks)
        self._thread.shutdown(wait=True)

    def wake(self) -> None:
        """There may be something new; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._woken.set)

    def _dismiss(self, reason: str) -> None:
        for reader in self._readers:
            reader.leave(reason)

    # ---- readers ----------------------------------------------------------------------------

    async def join(self, reader: Subscriber, cursor: int | None) -> None:
        """Say hello and catch up from the cursor, None for now; TooManyError without room.

        The lock keeps a look from falling between what is replayed and what comes next.
        """
        self._refuse_too_many(reader)
        self._readers.add(reader)  # takes its place while it waits; it is offered nothing yet
        try:
            async with self._looking:
                await self._catch_up(reader, cursor)
        except BaseException:
            self.leave(reader)
            raise

    def leave(self, reader: Subscriber) -> None:
        self._readers.discard(reader)
        self._is_following = self._is_following and bool(self._readers)

    def _refuse_too_many(self, reader: Subscriber) -> None:
        of_person = Counter(other.person for other in self._readers)[reader.person]
        is_full = len(self._readers) >= MOST_STREAMS or of_person >= MOST_PER_PERSON
        if is_full or self.is_closing:
            raise TooManyError

    async def _catch_up(self, reader: Subscriber, cursor: int | None) -> None:
        if not self._is_following:
            self._seen = await self.query(self._log.newest)
            self._is_following = True
        oldest = await self.query(self._log.oldest)
        reader.joined = True
        reader.offer([self._hello(reader, oldest)], self._seen)
        if cursor is None or cursor == self._seen:
            return
        if cursor > self._seen or cursor < oldest - 1:
            reader.restart("gap")
            return
        missed = await self.query(partial(self._log.since, cursor, MOST_REPLAYED + 1))
        missed = [message for message in missed if message.seq <= self._seen]
        if len(missed) > MOST_REPLAYED:
            reader.restart("overflow")
            return
        reader.offer(await self._frames(reader.view, missed), self._seen)

    def _hello(self, reader: Subscriber, oldest: int) -> Frame:
        now_ms = int(time.time() * 1000)
        return control(
            "hello",
            seq=self._seen,
            oldest_seq=oldest,
            server_ts=now_ms,
            topics=sorted(reader.view.topics),
            release=identity(),
        )

    # ---- the log ----------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._look_s):
                    await self._woken.wait()
            self._woken.clear()
            try:
                async with self._looking:
                    if self._is_following:
                        await self._look()
            except DatabaseError:
                log.warning("live.postponed", exc_info=True)
            except Exception:
                # A fault of ours: whoever reads sees it healed by the page, and the stream goes on.
                log.exception("live.look_failed")
                await self._skip()

    async def _skip(self) -> None:
        """Past what could not be shown; everybody reads their page anew."""
        try:
            newest = await self.query(self._log.newest)
        except DatabaseError:
            return  # the next look fails in the same way, and is here again
        self._begin_at(newest)

    async def _look(self) -> None:
        """Raises DatabaseError; then everybody is told of the same messages by the next look."""
        new = await self.query(partial(self._log.since, self._seen, MOST_READ))
        if not new:
            await self._follow_a_new_log()
            return
        head = new[-1].seq
        by_view: dict[View, list[Subscriber]] = defaultdict(list)
        for reader in self._readers:
            if reader.joined:
                by_view[reader.view].append(reader)
        for view, readers in by_view.items():
            frames = await self._frames(view, new)
            for reader in readers:
                reader.offer(frames, head)
        self._seen = head
        if len(new) == MOST_READ:
            self._woken.set()

    async def _follow_a_new_log(self) -> None:
        """A database that was deleted and made anew counts from one again."""
        newest = await self.query(self._log.newest)
        if newest < self._seen:
            self._begin_at(newest)

    def _begin_at(self, newest: int) -> None:
        self._seen = newest
        for reader in self._readers:
            if reader.joined:
                reader.offer((), newest)
                reader.restart("gap")

    async def _frames(self, view: View, messages: Sequence[Message]) -> Sequence[Frame]:
        seen = [message for message in messages if view.sees(message)]
        return await self.query(partial(self._build, view, seen)) if seen else ()

    async def _watch_sessions(self) -> None:
        """Whoever has signed out, or was signed out, reads no more."""
        while True:
            await asyncio.sleep(SESSIONS_S)
            asked = frozenset(reader.session for reader in self._readers if reader.session)
            if not asked:
                continue
            try:
                still = await self.query(partial(self._still_open, asked))
            except DatabaseError:
                log.warning("live.postponed", exc_info=True)
                continue
            for reader in self._readers:
                if reader.session in asked - still:
                    reader.leave("signed_out")

    async def query(self, ask: Callable[[], T]) -> T:
        """On the hub's own thread, so that neither the loop nor Django's views wait for it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _with_fresh_connection, ask)


def _with_fresh_connection(ask: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return ask()
    finally:
        close_old_connections()
