"""The way to providers: a pooled streaming HTTP client.

Nothing is decompressed, followed, retried or kept: bytes and raw headers come back as they
were. Source: 03-proxy-and-recovery.md 2.9, 2.10, 8.2; 06-stack.md 6.
"""

from __future__ import annotations

import io
import math
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import aiohttp
from yarl import URL

from dataplane.adapters import failpoints
from dataplane.adapters.outward.resolving import AddressRefusedError, CheckedResolver, Permission
from dataplane.adapters.waiting import within
from dataplane.settings import Settings

Headers = Sequence[tuple[bytes, bytes]]
Body = bytes | bytearray
IN_PIECES_BYTES = 1 << 20
HEADER_MAX_BYTES = 64 << 10  # one header of an answer; the client's own bound is 8 KiB
ADDRESSES_MAX = 256  # parsed once; those with a query of their own come and go
KEEP_ALIVE_S = 55  # stays below a peer's usual 60, so that an idle socket is ours to close
_FINAL = range(200, 600)  # what ends an exchange; no server writes another status
_OWN_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class UpstreamError(Exception):
    """The provider could not be reached, or stopped answering. name: the error code of it."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(detail)
        self.name = name


class Way(NamedTuple):
    """How an upstream is reached. proxy_url: through which proxy, None for straight.

    first_byte_s: how long its answer may take to begin, 0 for the node's own limit.
    """

    proxy_url: str | None = None
    first_byte_s: float = 0


STRAIGHT = Way()


@dataclass(slots=True)
class Response:
    """The head of an upstream answer; the body follows through chunks()."""

    status: int
    headers: Headers
    content_type: str
    content_encoding: str
    _response: aiohttp.ClientResponse
    _silence_s: float

    @classmethod
    def of(cls, response: aiohttp.ClientResponse, *, silence_s: float) -> Response:
        """silence_s: how long the body may pause, 0 for as long as it likes."""
        kind = response.headers.get("content-type", "").partition(";")[0]
        coding = response.headers.get("content-encoding", "identity")
        return cls(
            response.status,
            response.raw_headers,
            kind.strip().lower(),
            coding.strip().lower(),
            response,
            silence_s,
        )

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300  # noqa: PLR2004

    @property
    def has_ended(self) -> bool:
        """All of the body was given out; one that breaks off never ends."""
        return self._response.content.at_eof()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as the network delivers it. Raises UpstreamError when it ends too early."""
        content = self._response.content
        try:
            while not content.at_eof():
                chunk = content.read_nowait()
                if not chunk:  # nothing has come yet: a wait costs more than what it brings
                    with within(self._silence_s or math.inf):
                        chunk = await content.readany()
                if chunk:
                    failpoints.reached("mid_stream")
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UpstreamError("upstream_error", type(error).__name__) from error

    def close(self) -> None:
        """Give the connection back if the body was read to its end, else drop it at once."""
        self._response.close()


class UpstreamClient:
    """One connection pool per process."""

    def __init__(
        self, settings: Settings, may_be_private: Permission = lambda _host: False
    ) -> None:
        self._settings = settings
        self._may_be_private = may_be_private
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        # Looking up the name included, which may take as long as connecting.
        timeout = aiohttp.ClientTimeout(total=None, connect=self._settings.connect_timeout_s)
        connector = aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=KEEP_ALIVE_S,
            socket_factory=_socket,
            resolver=CheckedResolver(self._may_be_private),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            auto_decompress=False,
            trust_env=False,
            trace_configs=[_fatal_writes()] if failpoints.is_armed("request_write") else None,
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=HEADER_MAX_BYTES,
            max_field_size=HEADER_MAX_BYTES,
            skip_auto_headers=_OWN_HEADERS,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(
        self, method: str, url: str, headers: Headers, body: Body | None, way: Way = STRAIGHT
    ) -> Response:
        """Send one request and wait for the head of its answer. Raises UpstreamError.

        A connection that was refused before any byte was written is tried once more; nothing
        else is, because the provider may have begun to work on it.
        """
        try:
            return await self._attempt(method, url, headers, body, way)
        except aiohttp.ClientConnectorError:
            try:
                return await self._attempt(method, url, headers, body, way)
            except aiohttp.ClientConnectorError as error:
                raise UpstreamError("upstream_error", type(error).__name__) from error

    async def _attempt(
        self, method: str, url: str, headers: Headers, body: Body | None, way: Way
    ) -> Response:
        if self._session is None:
            raise UpstreamError("upstream_error", "the client is not started")
        try:
            with within(way.first_byte_s or self._settings.first_byte_timeout_s):
                response = await self._session.request(
                    method,
                    _address(url),
                    headers=[(name.decode("latin-1"), _text(value)) for name, value in headers],
                    # From a file the client sends in pieces and lets other streams in between.
                    data=io.BytesIO(body) if body and len(body) > IN_PIECES_BYTES else body,
                    allow_redirects=False,
                    proxy=way.proxy_url,
                )
        except TimeoutError as error:
            raise UpstreamError("upstream_timeout", "no response head") from error
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, AddressRefusedError):
                detail = str(error.os_error)
                raise UpstreamError("upstream_address_refused", detail) from error
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamError("upstream_error", type(error).__name__) from error
        failpoints.reached("response_head")
        if response.status not in _FINAL:
            response.close()
            raise UpstreamError("upstream_error", f"status {response.status}")
        return Response.of(response, silence_s=self._settings.silence_timeout_s)


@lru_cache(maxsize=ADDRESSES_MAX)
def _address(url: str) -> URL:
    """Without a user name, which would become a credential beside the caller's."""
    return URL(url, encoded=True).with_user(None)


def _fatal_writes() -> aiohttp.TraceConfig:
    """Lets a test end this process between the head of a request and its body."""
    trace = aiohttp.TraceConfig()

    async def on_chunk(*_: object) -> None:
        failpoints.reached("request_write")

    trace.on_request_chunk_sent.append(on_chunk)
    return trace


def _text(value: bytes) -> str:
    """A header value such that the client, which writes UTF-8, sends the same bytes.

    What is not UTF-8 cannot be kept so, and is read as the Latin-1 that it most likely is.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _socket(address: aiohttp.connector.AddrInfoType) -> socket.socket:
    """A TCP socket whose dead peers are noticed: probes after 60 s, every 15 s, four times."""
    made = socket.socket(address[0], address[1], address[2])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
