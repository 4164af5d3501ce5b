"""GET /live/stream: the browser's stream as a small ASGI application (04 §6.4).

It stands beside Django and not in a view, because a view's thread and database connection would
be held for as long as somebody reads. A client that does not read for WRITE_S is hung up on; it
comes back with its cursor.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import msgspec

from controlplane.live.hub import Hub, TooManyError
from controlplane.live.messages import control, event_stream
from controlplane.live.origins import is_foreign
from controlplane.live.readers import WINDOWS_S, Asked, RefusedError, reader_of
from controlplane.live.subscriber import Subscriber
from dataplane.tasks import ended

BEAT_S = 20.0
WRITE_S = 2.0
RECHECK_S = 60.0
BEAT = control("beat")  # a comment would reach no script, and a quiet reader's cursor would age
RETRY_S = 30
PATH = "/live/stream"
CURSOR = re.compile(r"[0-9]{1,18}")
LOST = -1  # before every log
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class EventStreams:
    """The application; its clients are readers of the hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        try:
            reader = await self._opened(scope)
        except RefusedError as refused:
            await _refuse(send, refused)
            return
        try:
            await self._serve(reader, scope, receive, send)
        finally:
            self._hub.leave(reader)

    async def _opened(self, scope: dict[str, Any]) -> Subscriber:
        """Joined, so that there is room for it."""
        if scope["path"] != PATH or scope["method"] != "GET":
            raise RefusedError(HTTPStatus.NOT_FOUND, "not_found")
        if is_foreign(scope):
            raise RefusedError(HTTPStatus.FORBIDDEN, "live.foreign_origin")
        asked = asked_for(scope)
        reader = await self._hub.query(partial(reader_of, asked))
        try:
            await self._hub.join(reader, asked.cursor)
        except TooManyError as problem:
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "live.too_many") from problem
        return reader

    async def _serve(
        self, reader: Subscriber, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        writing = asyncio.ensure_future(self._write(reader, asked_for(scope), send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((writing, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await ended(writing, gone)
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(WRITE_S):
                await _end(send)

    async def _write(self, reader: Subscriber, asked: Asked, send: Send) -> None:
        """Until the reader leaves, or may not read any more, or stops reading."""
        clock = asyncio.get_running_loop().time
        checked_at = clock()
        while reader.waiting or not reader.leaving:
            frames, head = await reader.take(BEAT_S)
            body = event_stream(frames or [BEAT], head)
            chunk = {"type": "http.response.body", "body": body, "more_body": True}
            async with asyncio.timeout(WRITE_S):
                await send(chunk)
            if clock() - checked_at > RECHECK_S:
                checked_at = clock()
                await self._recheck(reader, asked)

    async def _recheck(self, reader: Subscriber, asked: Asked) -> None:
        """What the person may see can have changed; the client comes back and is asked anew."""
        try:
            now = await self._hub.query(partial(reader_of, asked))
        except RefusedError:
            reader.leave("permission")
            return
        if now.view != reader.view:
            reader.restart("permission")
            reader.leave("permission")


def asked_for(scope: dict[str, Any]) -> Asked:
    """What the client wants; a cursor that is none counts as a lost one and not as now."""
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    window = next(iter(query.get("window", ())), "")
    given = headers.get(b"last-event-id") or next(iter(query.get("cursor", ())), "")
    return Asked(
        scope=scope,
        topics=frozenset(filter(None, ",".join(query.get("topics", ())).split(","))),
        tenant=next(iter(query.get("tenant", ())), ""),
        cursor=_cursor(given),
        window_s=next((each for each in WINDOWS_S if str(each) == window), WINDOWS_S[0]),
    )


def _cursor(given: str) -> int | None:
    if not given:
        return None
    return int(given) if CURSOR.fullmatch(given) else LOST


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _end(send: Send) -> None:
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _refuse(send: Send, refused: RefusedError) -> None:
    said = {"status": refused.status.value, "code": refused.code, "detail": refused.detail}
    body = msgspec.json.encode({name: value for name, value in said.items() if value})
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"cache-control", b"no-store"),
        (b"content-length", str(len(body)).encode()),
    ]
    if refused.status == HTTPStatus.TOO_MANY_REQUESTS:
        headers.append((b"retry-after", str(RETRY_S).encode()))
    await send({"type": "http.response.start", "status": refused.status.value, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
