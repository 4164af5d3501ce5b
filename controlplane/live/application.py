"""Live streams of one process: their paths, their readers, and how they end (04 §6.4, 6.5)."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from redis.exceptions import RedisError

from controlplane.live import socket, sse, wakes
from controlplane.live.hub import Hub
from controlplane.live.log import LiveLog
from controlplane.live.readers import still_open
from controlplane.live.snapshots import build
from dataplane.tasks import ended

log = logging.getLogger("headrace.live")

Handler = Callable[[int, FrameType | None], Any] | int | None


class Live:
    """The ASGI application behind PATHS."""

    PATHS = ("/live/", "/ws/")

    def __init__(self) -> None:
        self.hub = Hub(LiveLog(), build, still_open)
        self._streams = sse.EventStreams(self.hub)
        self._before: dict[signal.Signals, Handler] = {}
        self._listening: asyncio.Task[None] | None = None
        self._announcing: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def answers(cls, scope: Any) -> bool:
        """A websocket that nobody else wants is refused here, too."""
        if scope["type"] == "websocket":
            return True
        return scope["type"] == "http" and str(scope["path"]).startswith(cls.PATHS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self._streams(scope, receive, send)
        elif scope["path"] == socket.PATH:
            await socket.LiveSocket(self.hub)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": socket.FORBIDDEN})

    def clients(self) -> dict[str, int]:
        """Open streams by kind; from any thread."""
        return self.hub.clients()

    async def start(self) -> None:
        self.hub.start()
        self._loop = asyncio.get_running_loop()
        wakes.register(self._written)
        self._listening = asyncio.get_running_loop().create_task(wakes.listen(self.hub.wake))
        self._say_goodbye_on_signals()

    async def stop(self) -> None:
        wakes.unregister(self._written)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._listening is not None:
            await ended(self._listening)
        await self.hub.stop()

    def _written(self) -> None:
        """Something new in the log; from the thread that wrote it."""
        self.hub.wake()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._announce)

    def _announce(self) -> None:
        """One announcement at a time: whoever looks finds everything that is new."""
        if self._announcing is None or self._announcing.done():
            self._announcing = asyncio.ensure_future(self._announced())

    async def _announced(self) -> None:
        try:
            await wakes.announce()
        except (OSError, RedisError):
            log.warning("live.layer_unreachable", exc_info=True)

    def _say_goodbye_on_signals(self) -> None:
        """A server waits for open answers before it tells the application to stop; a stream
        would make it wait in vain. So streams end when the signal comes, and come back.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.getsignal(number)
            if callable(before):
                self._before[number] = before
                signal.signal(number, self._chained(before))

    def _chained(self, before: Callable[[int, FrameType | None], Any]) -> Any:
        def handler(number: int, frame: FrameType | None) -> None:
            self.hub.farewell()
            before(number, frame)

        return handler
