"""The yardstick: a reverse proxy that does nothing, on the same server and client as ours.

UPSTREAM names where it forwards to: `UPSTREAM=http://… uvicorn tools.bench.bare:application`.
"""

from __future__ import annotations

import os
from typing import Any

import aiohttp

_HOP = {b"host", b"content-length", b"transfer-encoding", b"connection", b"keep-alive"}
_session: aiohttp.ClientSession | None = None


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Read the body, send it on, relay the answer chunk by chunk."""
    global _session
    if scope["type"] != "http":
        return
    if _session is None:
        _session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=55),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(n.decode(), v.decode()) for n, v in scope["headers"] if n not in _HOP]
    url = os.environ["UPSTREAM"] + scope["path"]
    async with _session.request(scope["method"], url, headers=headers, data=body) as answer:
        kept = [(n.lower(), v) for n, v in answer.raw_headers if n.lower() not in _HOP]
        await send({"type": "http.response.start", "status": answer.status, "headers": kept})
        async for chunk in answer.content.iter_any():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
