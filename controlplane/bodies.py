"""How much of a body is taken in before anybody looks at it (04 section 6.1).

Django reads a request to its end, to the disk where it is large, before it asks who has sent it;
and a body that comes in chunks does not say beforehand how large it is.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

LARGEST = 4 << 20  # a document as a form spells it takes a quarter of that
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]


async def within_bounds(application: Application, scope: Any, receive: Receive, send: Send) -> None:
    """Let the application answer, or say 413 and hang up as soon as a body is larger.

    To the application it is as if the client had gone: it cleans up and answers nothing.
    """
    left = LARGEST

    async def counted() -> Message:
        nonlocal left
        message: Message = await receive()
        left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if left < 0 else message

    await application(scope, counted, send)
    if left < 0:
        await _refuse(send)


async def _refuse(send: Send) -> None:
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "request.too_large"
    body = json.dumps(
        {
            "type": f"/docs/errors/{code}",
            "title": status.phrase,
            "status": status,
            "code": code,
            "detail": f"A body has at most {LARGEST} bytes.",
            "limit_bytes": LARGEST,
        }
    ).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # what is still to come is read by nobody
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
