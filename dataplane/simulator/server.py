"""The simulated provider on a socket. In a test: `async with Simulator() as simulator: …`."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from dataplane.simulator.answer import Answer, json_answer
from dataplane.simulator.pacing import writes
from dataplane.simulator.problem import ProviderError
from dataplane.simulator.provider import Model, Provider, Request, error_answer
from dataplane.simulator.script import Json, Round

LARGEST_BODY_BYTES = 140 << 20
LARGEST_HEADER_BYTES = 1 << 20
KEPT_REQUESTS = 10_000
_INSPECTION = "/_sim/requests"


@dataclass(slots=True)
class Recorded:
    """One request as it arrived. path: with its query. at: real seconds, body complete.
    disconnected_at: real seconds when its connection was lost before the answer ended.
    """

    number: int
    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    at: float
    disconnected_at: float | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header, whatever the case of its name."""
        wanted = name.lower().encode()
        for found, value in self.headers:
            if found.lower() == wanted:
                return value.decode("latin-1")
        return None


class Simulator:
    """A simulated provider that listens on loopback. `url` is set once it is started."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        delay_ms: float = 0.0,
        minimum_tokens: int = 1024,
        keep: int = KEPT_REQUESTS,
    ) -> None:
        """port 0: any free one. delay_ms: pause between the events of a stream. minimum_tokens:
        smallest prefix that is cached. keep: how many requests are remembered, 0 for none.
        """
        self.requests: list[Recorded] = []
        self.on_request: Callable[[Recorded], None] | None = None
        self.url = ""
        self._host, self._port = host, port
        self._delay_ms = delay_ms
        self._keep = keep
        self._arrived = 0
        self._provider = Provider(minimum_tokens=minimum_tokens)
        self._server: asyncio.Server | None = None
        self._http: web.Server | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def script(self, *rounds: Json | Round) -> None:
        """Answer the next requests that carry no `x-sim-script` with these, one round each."""
        self._provider.scripts.queue(*rounds)

    def play(self, model: Model | None) -> None:
        """Have it decide what is answered to requests without a script while none is queued."""
        self._provider.model = model

    def clear(self) -> None:
        """Forget recorded requests, scripts and cached prompts."""
        self.requests.clear()
        self._provider.clear()

    async def start(self) -> None:
        """Listen. OSError when the port is taken."""
        loop = asyncio.get_running_loop()
        self._http = web.Server(
            self._respond,
            request_factory=_request_factory(loop),
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            max_line_size=LARGEST_HEADER_BYTES,
            max_field_size=LARGEST_HEADER_BYTES,
        )
        self._server = await loop.create_server(self._http, self._host, self._port, backlog=1024)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://{self._host}:{port}"

    async def close(self) -> None:
        """Stop listening and cut what is still open."""
        if self._server is None or self._http is None:
            return
        self._server.close()
        await self._http.shutdown(timeout=0.1)
        await self._server.wait_closed()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == _INSPECTION and self._keep:
            return await _send(request, self._recorded_since(request), Round())
        await _say_continue(request)
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return await _send(request, _too_large(request), Round())
        recorded = self._record(request, body)
        asked = Request(request.method, request.path, _lowered(request), body, recorded.at)
        answer, wanted = self._provider.answer(asked)
        try:
            return await _send(request, answer, wanted, gap_ms=self._delay_ms)
        except asyncio.CancelledError:
            recorded.disconnected_at = time.time()
            raise
        except ConnectionError:
            # A client may leave whenever it likes: no fault of the handler, which would be logged.
            recorded.disconnected_at = time.time()
            return web.StreamResponse()

    def _record(self, request: web.BaseRequest, body: bytes) -> Recorded:
        recorded = Recorded(
            self._arrived,
            request.method,
            request.raw_path,
            tuple(request.raw_headers),
            body,
            time.time(),
        )
        self._arrived += 1
        if self._keep:
            self.requests.append(recorded)
            del self.requests[: -self._keep]
        if self.on_request is not None:
            self.on_request(recorded)
        return recorded

    def _recorded_since(self, request: web.BaseRequest) -> Answer:
        """The recorded requests from number `since` on, bodies in base64."""
        since = request.query.get("since", "0")
        first = int(since) if since.isdecimal() else 0
        listed = [_spelled(found) for found in self.requests if found.number >= first]
        return json_answer({"requests": listed, "next": self._arrived})


def _request_factory(
    loop: asyncio.AbstractEventLoop,
) -> Callable[..., web.BaseRequest]:
    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, loop, client_max_size=LARGEST_BODY_BYTES
        )

    return make


def _lowered(request: web.BaseRequest) -> dict[str, str]:
    """The first value of each header by its name in lower case."""
    lowered: dict[str, str] = {}
    for name, value in request.headers.items():
        lowered.setdefault(name.lower(), value)
    return lowered


def _too_large(request: web.BaseRequest) -> Answer:
    error = ProviderError("Request exceeds the maximum size", status=413, kind="request_too_large")
    is_anthropic = "anthropic-version" in request.headers or request.path == "/v1/messages"
    return error_answer(error, is_anthropic=is_anthropic)


async def _say_continue(request: web.BaseRequest) -> None:
    if request.headers.get("expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def _send(
    request: web.BaseRequest, answer: Answer, wanted: Round, *, gap_ms: float = 0.0
) -> web.StreamResponse:
    """Write the answer as the round wants it; a cut one ends without its end."""
    if wanted.head_delay_ms:
        await asyncio.sleep(wanted.head_delay_ms / 1000)
    response = web.StreamResponse(status=answer.status, headers=_headers(answer, wanted))
    await response.prepare(request)
    due = time.perf_counter()
    for write in writes(answer.events, wanted, gap_ms=gap_ms):
        if write.pause_ms:
            # By the clock and not by the pause: late events do not make the rest of them later.
            due += write.pause_ms / 1000
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await response.write(write.payload)
    if wanted.is_cut:
        response.force_close()
        if request.transport is not None:
            request.transport.close()
        return response
    await response.write_eof()
    return response


def _headers(answer: Answer, wanted: Round) -> CIMultiDict[str]:
    headers: CIMultiDict[str] = CIMultiDict(answer.headers)
    if not answer.is_raw:
        headers["content-type"] = answer.content_type
    if not answer.streamed:
        headers["content-length"] = str(sum(len(event) for event in answer.events))
    for name, value in wanted.headers.items():
        headers.popall(name, None)
        for each in [value] if isinstance(value, str) else value:
            headers.add(name, each)
    return headers


def _spelled(recorded: Recorded) -> Json:
    return {
        "number": recorded.number,
        "method": recorded.method,
        "path": recorded.path,
        "headers": [[n.decode("latin-1"), v.decode("latin-1")] for n, v in recorded.headers],
        "body_b64": base64.b64encode(recorded.body).decode(),
        "at": recorded.at,
        "disconnected_at": recorded.disconnected_at,
    }
