"""How much of a body is taken in, for how long, and of how many at once (04 §6.1).

Django reads a request to its end, to the disk where it is large, before it asks who has sent it,
and waits for it as long as it takes. So a body is collected here first: little of it, and shortly,
for somebody who shows no credential that we know.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils.crypto import constant_time_compare

from controlplane.accounts.queries import is_open_machine, is_open_token
from dataplane.core.door.addresses import address_behind, peer_of, site_of

log = logging.getLogger("headrace.bodies")
LARGEST = 4 << 20  # a document as a form spells it takes a quarter of that
BEFORE_SIGN_IN = 64 << 10
STRANGERS_S, IDLE_S, TOTAL_S = 10.0, 30.0, 60.0
OF_ONE_SITE, IN_ALL = 8, 32  # bodies of which a part is still to come
LARGE_AT_ONCE, LARGE_WAIT_S = 8, 5.0  # those past BEFORE_SIGN_IN
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]


@dataclass(slots=True)
class RefusedError(Exception):
    """The body is not taken. more: further members of the problem."""

    status: HTTPStatus
    code: str
    detail: str
    more: dict[str, int] = field(default_factory=dict)


class GoneError(Exception):
    """The client went before its body was complete."""


async def is_known(headers: dict[bytes, bytes]) -> bool:
    """Whether a credential comes with the request that opens something; what, is asked later."""
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer" and token:
        if settings.NODE_TOKEN and constant_time_compare(token, settings.NODE_TOKEN):
            return True
        return await sync_to_async(is_open_token)(token.strip())
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return False
    session = cookies.get(settings.SESSION_COOKIE_NAME)
    return session is not None and await sync_to_async(is_open_machine)(session.value)


class Bodies:
    """The bodies that are coming in at one process. is_known: as the function of that name."""

    def __init__(self, is_known: Callable[[dict[bytes, bytes]], Awaitable[bool]]) -> None:
        self._is_known = is_known
        self._unfinished: Counter[str] = Counter()
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def within_bounds(
        self, application: Application, scope: Any, receive: Receive, send: Send
    ) -> None:
        """Let the application answer what came in whole; or name why not, and hang up."""
        if not _has_body(dict(scope["headers"])):
            await application(scope, receive, send)
            return
        body = Body(scope)
        try:
            async with asyncio.timeout(STRANGERS_S) as clock:
                await self._collect(body, receive, clock)
            await application(scope, body.replayed(receive), send)
        except TimeoutError:
            if body.is_complete:
                raise
            await _refuse(send, _too_slow())
        except RefusedError as refused:
            log.info("cp.body_refused code=%s site=%s", refused.code, body.site)
            await _refuse(send, refused)
        except GoneError:
            pass
        finally:
            if body.is_large:
                self._large.release()

    async def _collect(self, body: Body, receive: Receive, clock: asyncio.Timeout) -> None:
        is_counted = False
        try:
            await self._admit(body, body.announced, clock)
            while not body.is_complete:
                async with asyncio.timeout(IDLE_S):
                    body.take(await receive())
                await self._admit(body, body.size, clock)
                if not is_counted and not body.is_complete:
                    self._enter(body.site)
                    is_counted = True
        finally:
            if is_counted:
                self._leave(body.site)

    async def _admit(self, body: Body, size: int, clock: asyncio.Timeout) -> None:
        """Past what a stranger may send, ask who it is, and for a place among the large ones."""
        if size > LARGEST:
            raise _too_large(LARGEST)
        if size <= BEFORE_SIGN_IN or body.is_large:
            return
        if not await self._is_known(body.headers):
            raise _too_large(BEFORE_SIGN_IN)
        clock.reschedule(asyncio.get_running_loop().time() + TOTAL_S)
        try:
            async with asyncio.timeout(LARGE_WAIT_S):
                await self._large.acquire()
        except TimeoutError:
            raise _too_many() from None
        body.is_large = True

    def _enter(self, site: str) -> None:
        if self._unfinished[site] >= OF_ONE_SITE or self._unfinished.total() >= IN_ALL:
            raise _too_many()
        self._unfinished[site] += 1

    def _leave(self, site: str) -> None:
        self._unfinished[site] -= 1
        if not self._unfinished[site]:
            del self._unfinished[site]


class Body:
    """What has come in of one body."""

    def __init__(self, scope: Any) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        said = self.headers.get(b"content-length", b"")
        self.announced = int(said) if said.isdigit() and len(said) <= len(str(2**63)) else 0
        forwarded = self.headers.get(b"x-forwarded-for", b"").decode("latin-1")
        peer = peer_of(scope.get("client"))
        self.site = site_of(address_behind(peer, forwarded, settings.TRUSTED_PROXIES))
        self.size = 0
        self.is_complete = self.is_large = False
        self._chunks: list[bytes] = []

    def take(self, message: Message) -> None:
        if message["type"] == "http.disconnect":
            raise GoneError
        chunk = message.get("body", b"")
        self._chunks.append(chunk)
        self.size += len(chunk)
        self.is_complete = not message.get("more_body", False)

    def replayed(self, receive: Receive) -> Receive:
        """The whole body, and then what the server has to say."""
        whole: list[bytes] = [b"".join(self._chunks)]
        self._chunks.clear()

        async def replay() -> Message:
            if whole:
                return {"type": "http.request", "body": whole.pop(), "more_body": False}
            message: Message = await receive()
            return message

        return replay


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _too_large(limit: int) -> RefusedError:
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    detail = f"A body has at most {limit} bytes{' before sign-in' * (limit < LARGEST)}."
    return RefusedError(status, "request.too_large", detail, {"limit_bytes": limit})


def _too_slow() -> RefusedError:
    detail = "The body did not arrive in time."
    return RefusedError(HTTPStatus.REQUEST_TIMEOUT, "request.body_timeout", detail)


def _too_many() -> RefusedError:
    detail = "Too many bodies are still on their way; try again in a second."
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "request.too_many_bodies", detail)


async def _refuse(send: Send, refused: RefusedError) -> None:
    body = json.dumps(
        {
            "type": f"/docs/errors/{refused.code}",
            "title": refused.status.phrase,
            "status": refused.status,
            "code": refused.code,
            "detail": refused.detail,
            **refused.more,
        }
    ).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # what is still to come is read by nobody
    ]
    if refused.status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
