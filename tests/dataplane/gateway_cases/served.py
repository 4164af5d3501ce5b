"""A running node with its provider and a client, and the requests that these tests send."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from dataplane.core.port.declaration import PipelineStep
from dataplane.simulator import Simulator
from tests.dataplane.gateway import TA, Gateway, TenantSpec, gateway, tenants
from tests.patience import PATIENCE_S, until

MASK_ALL = """\
pipeline: [mask]
components: {mask: {keep_recent: 0, min_tokens: 1, keep_head_chars: 0}}
"""
AGENT = {"x-context-guru-token": TA, "x-api-key": "sk-agent"}
LONG = "a long line of output ✓\n" * 40
MASKED = "[older tool output masked] <<cg:{id}>> [full output: call context_guru_expand]"

Serve = Callable[..., AbstractAsyncContextManager["Served"]]


@dataclass
class Served:
    """A node (url in gateway.url), the provider behind it and a client in front."""

    gateway: Gateway
    simulator: Simulator
    http: httpx.AsyncClient

    async def post(
        self, body: bytes, *, path: str = "/v1/messages", **headers: str
    ) -> httpx.Response:
        """Send as tenant A's agent; header names with _ for -."""
        return await self.send("POST", path, content=body, headers=AGENT | _spelled(headers))

    async def send(self, method: str, path: str, **rest: Any) -> httpx.Response:
        answer = await self.http.request(method, self.gateway.url + path, **rest)
        await self.settled()
        return answer

    async def settled(self) -> None:
        """Wait until the node has counted what it answered, which it does after the last byte."""
        await until(lambda: not self.gateway.node.door.inflight, look_every_s=0.001)

    @property
    def sent(self) -> list[bytes]:
        """The bodies that the provider got, oldest first."""
        return [request.body for request in self.simulator.requests]

    def stats(self, slug: str = "acme") -> dict[str, Any]:
        return self.gateway.stats(slug)

    def refused(self, slug: str = "") -> dict[str, int]:
        """Refusals counted for a tenant, or for no tenant at all."""
        totals = self.gateway.node.telemetry.of(f"ten_{slug}" if slug else "")
        return dict(totals.refused)

    def use(self, *steps: PipelineStep, slug: str = "acme") -> None:
        """Give a tenant these compiled steps in place of those of its document."""
        snapshots = self.gateway.node.snapshots
        tenant = snapshots.tenants[f"ten_{slug}"]
        plan = dataclasses.replace(tenant.plan, steps=steps)
        snapshots.tenants = snapshots.tenants | {
            f"ten_{slug}": dataclasses.replace(tenant, plan=plan)
        }


def _spelled(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def serving(directory: Path, simulator: Simulator) -> Serve:
    """Starts nodes in front of one provider, each with a state directory of its own."""
    numbers = itertools.count()

    @contextlib.asynccontextmanager
    async def start(
        document: str = MASK_ALL, *, specs: list[TenantSpec] | None = None, **settings: Any
    ) -> AsyncIterator[Served]:
        place = directory / str(next(numbers))
        async with (
            gateway(place, specs or tenants(document), simulator.url, **settings) as running,
            httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
        ):
            yield Served(running, simulator, http)

    return start


def with_output(text: str, **members: Any) -> bytes:
    """A Messages request with one tool result and one tool."""
    call = {"type": "tool_use", "id": "toolu_0", "name": "bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_0", "content": text}
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 64,
        "messages": [
            {"role": "user", "content": "Fix the test."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        **members,
    }
    return json.dumps(body).encode()
