"""The server's HTTP protocol, with a bound on the head of a request, its size and its time, and on
how many connections there are.

Without one a client that sends a header a minute holds a connection for ever, and one header
without end fills the memory. Source: 03-proxy-and-recovery.md 1.6.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dataplane.door import Door

HEAD_MAX_BYTES = 64 << 10
HEAD_S = 10.0
KEEP_ALIVE_S = 120


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's own protocol; what it refuses here no application ever sees.

    door: of the process.
    """

    door: ClassVar[Door] = Door()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._awaits_head = True
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self.door.enter(self):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        self.door.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._awaits_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._awaits_head and self._head_bytes > HEAD_MAX_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if not self._awaits_head:
            self._head_bytes = 0
            self._begin_head()

    def on_headers_complete(self) -> None:
        self._end_head()
        size = sum(len(name) + len(value) for name, value in self.headers) + len(self.url)
        if size > HEAD_MAX_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        path = self.url.decode("latin-1").partition("?")[0]
        is_page = self.is_page(self.parser.get_method().decode("latin-1"), path)
        if not self.door.ask(self, is_page=is_page):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self.door.wait(self)
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """The connection goes on under another protocol, and is one all the same."""
        super().handle_websocket_upgrade()
        upgraded: Any = self.transport.get_protocol()
        lost = upgraded.connection_lost

        def leave(exc: Exception | None) -> None:
            self.door.leave(self)
            lost(exc)

        upgraded.connection_lost = leave

    def is_page(self, _method: str, _path: str) -> bool:
        """Whether a request is one for a page: a node alone has none."""
        return False

    def make_way(self) -> None:
        self._end_head()
        self.transport.abort()

    def _begin_head(self) -> None:
        self._awaits_head = True
        self._deadline = self.loop.call_later(HEAD_S, self._refuse, HTTPStatus.REQUEST_TIMEOUT)

    def _end_head(self) -> None:
        self._awaits_head = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Say so in as few words as there are, and hang up."""
        self._end_head()
        if self.transport.is_closing():
            return
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-length: 0\r\n"
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            head += "retry-after: 1\r\n"
        self.transport.write((head + "connection: close\r\n\r\n").encode())
        self.transport.close()
