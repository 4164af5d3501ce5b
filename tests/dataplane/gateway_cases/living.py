"""One session of tenant A at stated times, on a node that keeps caches alive."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from dataplane.adapters.beside.kept import Kept
from dataplane.core.uplink import RequestRow
from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import AGENT, Served
from tests.fakes.receiver import Receiver

ON = "pipeline: []\ncache: {keepalive: true}\n"
OFF = "pipeline: []\n"
T0 = 1_900_000_000.0
LONG_TEXT = "It is written here. " * 6_000  # 30,000 tokens of the simulated provider
KEY = "sk-ant-api03-of-the-agent"


def body(turns: int, text: str = LONG_TEXT, **members: Any) -> bytes:
    """A conversation whose head is cached, with so many user turns."""
    marked = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "turn 0"}]
    for turn in range(1, turns):
        messages += [
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": f"turn {turn}"},
        ]
    whole = {"model": "claude-sonnet-5", "max_tokens": 4096, "stream": True, "system": [marked]}
    return json.dumps({**whole, "messages": messages, **members}).encode()


class Life:
    """One session of tenant A at stated times, seconds after T0."""

    def __init__(self, served: Served, sink: Receiver) -> None:
        self.served, self.sink = served, sink

    async def turn(self, number: int, at: float, **members: Any) -> None:
        session = {"x-context-guru-session": members.pop("session", "s")}
        await self.send(body(number, **members), at, session)

    async def send(
        self, content: bytes, at: float, headers: dict[str, str], *, status: int = 200
    ) -> None:
        named = AGENT | {"x-api-key": KEY, "anthropic-version": "2023-06-01"} | headers
        answer = await self.served.send(
            "POST",
            "/v1/messages?beta=true",
            content=content,
            headers=named | {"x-headrace-now": f"{T0 + at}", "content-type": "application/json"},
        )
        assert answer.status_code == status, answer.text

    async def stats(self, at: float) -> dict[str, Any]:
        """The object `keepalive`, after time has passed until then."""
        found = await self.all_stats(at)
        return dict(found["keepalive"])

    async def all_stats(self, at: float) -> dict[str, Any]:
        headers = {"x-context-guru-token": TA, "x-headrace-now": f"{T0 + at}"}
        found: dict[str, Any] = (await self.served.send("GET", "/stats", headers=headers)).json()
        return found

    @property
    def pings(self) -> list[tuple[float, bytes]]:
        """When the provider got a ping, seconds after T0, and its body."""
        return [
            (float(request.header("x-headrace-now") or 0) - T0, request.body)
            for request in self.served.simulator.requests
            if b'"max_tokens": 1,' in request.body
        ]

    async def rows(self) -> list[RequestRow]:
        uplink = self.served.gateway.node.uplink
        assert uplink is not None
        await uplink.flush()
        return self.sink.rows

    @property
    def kept(self) -> list[Kept]:
        return list(self.served.gateway.node.keepalive._kept.values())


Live = Callable[..., AbstractAsyncContextManager[Life]]
