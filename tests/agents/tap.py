"""Stands between an agent and the gateway, changes nothing and keeps what both said."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

LARGEST_BODY_BYTES = 64 << 20
_HOP_BY_HOP = frozenset({"host", "content-length", "transfer-encoding", "connection"})


@dataclass(slots=True)
class Exchanged:
    """One request of the agent and what came back. status: 0 until the answer begins."""

    method: str
    path: str
    headers: dict[str, str]
    sent: bytes
    status: int = 0
    answered: bytearray = field(default_factory=bytearray)


class Tap:
    """Listens on loopback once it is entered; `url` takes the place of the gateway's."""

    def __init__(self, gateway_url: str) -> None:
        self.exchanged: list[Exchanged] = []
        self.url = ""
        self._gateway_url = gateway_url
        self._runner = web.ServerRunner(
            web.Server(self._carry, access_log=None), shutdown_timeout=0.1
        )
        self._client: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession(auto_decompress=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()
        if self._client is not None:
            await self._client.close()

    @property
    def sent(self) -> bytes:
        """Every body that the agent sent."""
        return b"".join(each.sent for each in self.exchanged)

    @property
    def answered(self) -> bytes:
        """Every body that the agent got."""
        return b"".join(bytes(each.answered) for each in self.exchanged)

    async def _carry(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self._client is not None
        body = await request.clone(client_max_size=LARGEST_BODY_BYTES).read()
        headers = dict(request.headers)
        noted = Exchanged(request.method, request.raw_path, headers, body)
        self.exchanged.append(noted)
        url = self._gateway_url + request.raw_path
        kept = {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}
        if "upgrade" in request.headers.get("connection", "").lower():
            kept["connection"] = "upgrade"
        async with self._client.request(
            request.method, url, data=body or None, headers=kept, allow_redirects=False
        ) as answer:
            noted.status = answer.status
            return await _relayed(request, answer, noted)


async def _relayed(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, noted: Exchanged
) -> web.StreamResponse:
    kept = [(n, v) for n, v in answer.headers.items() if n.lower() not in _HOP_BY_HOP]
    response = web.StreamResponse(status=answer.status)
    for name, value in kept:
        response.headers.add(name, value)
    await response.prepare(request)
    async for chunk in answer.content.iter_any():
        noted.answered += chunk
        await response.write(chunk)
    await response.write_eof()
    return response
