"""The server's HTTP protocol, with a bound on the head of a request: its size and its time.

Without one a client that sends a header a minute holds a connection for ever, and one header
without end fills the memory. Source: 03-proxy-and-recovery.md 1.6.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_MAX_BYTES = 64 << 10
HEAD_S = 10.0
KEEP_ALIVE_S = 120


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's own protocol; what it refuses here no application ever sees."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._awaits_head = True
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
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
        super().on_headers_complete()

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
        self.transport.write((head + "connection: close\r\n\r\n").encode())
        self.transport.close()
