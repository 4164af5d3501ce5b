"""One ASGI request: its headers, its body, its answer, and whether the client is still there."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol
from urllib.parse import quote

import zstandard

from dataplane.adapters.waiting import within
from dataplane.core.door.addresses import peer_of
from dataplane.core.door.identity import Headers
from dataplane.core.door.refusal import REFUSALS, Refusal, body_of, headers_of
from dataplane.core.session.naming import HEADERS as SESSION_HEADERS
from dataplane.core.session.naming import usable
from dataplane.settings import BodyLimits

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


LINGER_S = 1.0
_LEAVE_A_BODY = ("body_too_large", "body_timeout")


class Room(Protocol):
    """Where a large body may stay in memory."""

    async def take(self) -> None: ...


class RefusedError(Exception):
    """The request is answered with this named refusal and goes no further."""

    def __init__(
        self, name: str, *, tenant: str = "", detail: str = "", retry_after_s: int = 0
    ) -> None:
        super().__init__(name)
        self.refusal: Refusal = REFUSALS[name]
        if retry_after_s:
            self.refusal = replace(self.refusal, retry_after_s=retry_after_s)
        self.tenant = tenant
        self.detail = detail


class DisconnectedError(Exception):
    """The client went away before its request was complete."""


class Call:
    """The server's side of one request. family: whose error envelope the client understands."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        self.scope = scope
        self.request_id = request_id
        self.family = ""
        self.status = 0
        self.is_complete = False
        self._receive = receive
        self._send = send
        self._first_values: dict[bytes, bytes] = dict(reversed(scope["headers"]))

    @property
    def method(self) -> str:
        method: str = self.scope["method"]
        return method

    @property
    def path(self) -> str:
        path: str = self.scope["path"]
        return path

    @property
    def spelt_path(self) -> str:
        """The path as the client wrote it, percent escapes included."""
        raw: bytes | None = self.scope.get("raw_path")
        return quote(self.path) if raw is None else raw.decode("latin-1")

    @property
    def query(self) -> str:
        """What follows the question mark, as the client wrote it."""
        query: bytes = self.scope.get("query_string", b"")
        return query.decode("latin-1")

    @property
    def headers(self) -> Headers:
        headers: Headers = self.scope["headers"]
        return headers

    def header(self, name: bytes) -> str:
        """The first value of a header, "" when it is absent."""
        value = self._first_values.get(name)
        return value.decode("latin-1") if value else ""

    @property
    def session_name(self) -> str:
        """The first that a header brings and that can name a session, "" for none."""
        for name in SESSION_HEADERS:
            if found := usable(self.header(name)):
                return found
        return ""

    @property
    def is_encoded(self) -> bool:
        """The body is compressed, so that nobody here reads it."""
        return self.header(b"content-encoding").lower() not in {"", "identity"}

    @property
    def peer(self) -> str:
        return peer_of(self.scope.get("client"))

    async def read_body(self, limits: BodyLimits, room: Room) -> bytes:
        """The whole body. Raises RefusedError for one too large or too slow.

        room: taken as soon as the body is known to be a large one.
        """
        announced = self.header(b"content-length")
        bound = min(limits.big, limits.maximum)
        if announced.isdecimal() and int(announced) > bound:
            await self._admit_size(int(announced), limits, room)
        clock = asyncio.get_running_loop().time
        ends_at = clock() + limits.total_timeout_s
        chunks, size, more = [], 0, True
        try:
            with within(limits.total_timeout_s) as patience:
                while more:
                    patience.set(min(ends_at, clock() + limits.idle_timeout_s))
                    message = await self._next()
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if size > bound:  # the wait for room is not the client's
                        patience.set(ends_at)
                        await self._admit_size(size, limits, room)
                    chunks.append(chunk)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise RefusedError("body_timeout") from None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    @staticmethod
    async def _admit_size(size: int, limits: BodyLimits, room: Room) -> None:
        if size > limits.maximum:
            raise RefusedError("body_too_large")
        if size > limits.big:
            await room.take()

    async def _next(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        return message

    async def until_disconnect(self) -> None:
        """Return when the client has gone. The body must have been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def start(self, status: int, headers: Headers) -> None:
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, body: bytes, *, more: bool = True) -> None:
        self.is_complete = not more
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def respond(
        self, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        """A whole answer at once."""
        length = (b"content-length", str(len(body)).encode())
        await self.start(status, [*(headers or []), length])
        await self.write(body, more=False)

    async def refuse(self, error: RefusedError) -> None:
        refusal = error.refusal
        body = body_of(refusal, self.family, request_id=self.request_id, detail=error.detail)
        headers = headers_of(refusal, request_id=self.request_id)
        if refusal.name not in _LEAVE_A_BODY:
            await self.respond(refusal.status, body, headers)
            return
        headers += [(b"connection", b"close"), (b"content-length", b"%d" % len(body))]
        await self.start(refusal.status, headers)
        await self.write(body)
        await self._linger()
        await self.write(b"", more=False)

    async def _linger(self) -> None:
        """Let the client read the answer: closing while it still sends would destroy it."""
        with contextlib.suppress(TimeoutError), within(LINGER_S):
            more = True
            while more:
                message = await self._receive()
                more = message["type"] == "http.request" and message.get("more_body", False)


DECODED_MAX_BYTES = 64 << 20
DECODED_MAX_RATIO = 200
_ALWAYS_ALLOWED_BYTES = 1 << 20
_ZSTD_SLICE_BYTES = 256  # a few bytes can stand for a block of 128 KiB


class Decoder:
    """Takes the content coding off a response body; `known` is False for one we cannot read.

    A body that is no answer but a bomb ends with a ValueError: more than DECODED_MAX_BYTES, or
    more than DECODED_MAX_RATIO times what came.
    """

    def __init__(self, coding: str) -> None:
        self.known = True
        self._taken = self._given = 0
        self._pieces: Callable[[bytes], Iterator[bytes]] = lambda _: iter(())
        if coding in {"gzip", "x-gzip", "deflate"}:
            self._pieces = _Inflater().pieces
        elif coding == "zstd":
            unpacker = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
            self._pieces = partial(_unpacked, unpacker)
        elif coding not in {"", "identity"}:
            self.known = False
        self.is_identity = coding in {"", "identity"}

    def feed(self, chunk: bytes) -> bytes:
        """The plain bytes of a chunk. Raises ValueError for a damaged body, or a bomb."""
        if self.is_identity:
            return chunk
        self._taken += len(chunk)
        allowed = min(
            DECODED_MAX_BYTES, max(_ALWAYS_ALLOWED_BYTES, DECODED_MAX_RATIO * self._taken)
        )
        plain = []
        try:
            for piece in self._pieces(chunk):
                self._given += len(piece)
                if self._given > allowed:
                    raise ValueError("the body grows beyond all measure")
                plain.append(piece)
        except (zlib.error, zstandard.ZstdError) as error:
            raise ValueError("damaged content coding") from error
        return b"".join(plain)


class _Inflater:
    """A zlib stream or gzip members, of which a body may have several (RFC 1952, 2.2)."""

    def __init__(self) -> None:
        self._member = _member()

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._member.eof:
                self._member = _member()
            yield self._member.decompress(chunk, _ALWAYS_ALLOWED_BYTES)
            chunk = self._member.unconsumed_tail or self._member.unused_data


def _member() -> Any:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)


def _unpacked(unpacker: Any, chunk: bytes) -> Iterator[bytes]:
    for at in range(0, len(chunk), _ZSTD_SLICE_BYTES):
        yield unpacker.decompress(chunk[at : at + _ZSTD_SLICE_BYTES])
