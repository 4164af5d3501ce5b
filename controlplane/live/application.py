"""Live streams of one process: their paths, their readers, and how they end (04 6.4, 6.5)."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from controlplane.live import socket, sse, wakes
from controlplane.live.hub import Hub
from controlplane.live.log import LiveLog
from controlplane.live.readers import still_open
from controlplane.live.snapshots import build

Handler = Callable[[int, FrameType | None], Any] | int | None


class Live:
    """The ASGI application behind PATHS."""

    PATHS = ("/live/", "/ws/")

    def __init__(self) -> None:
        self.hub = Hub(LiveLog(), build, still_open)
        self._streams = sse.EventStreams(self.hub)
        self._before: dict[signal.Signals, Handler] = {}
        self._listening: asyncio.Task[None] | None = None

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

    async def start(self) -> None:
        self.hub.start()
        wakes.register(self.hub.wake)
        self._listening = asyncio.get_running_loop().create_task(wakes.listen(self.hub.wake))
        self._say_goodbye_on_signals()

    async def stop(self) -> None:
        wakes.unregister(self.hub.wake)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self.hub.stop()

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
