"""A real node whose reports go to a real writer, in front of the simulated provider."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from controlplane.telemetry.writer import Writer
from dataplane.adapters.figures.uplink import Uplink
from dataplane.simulator import Simulator
from tests.dataplane.gateway import TenantSpec, gateway
from tests.dataplane.gateway_cases.served import AGENT, LONG, MASK_ALL, Served
from tests.patience import PATIENCE_S


@dataclass
class Reporting:
    """served: the node and a client in front of it."""

    served: Served
    uplink: Uplink

    async def reported(self) -> None:
        """Everything that was answered is in the database."""
        await self.served.settled()
        await self.uplink.flush()


@contextlib.asynccontextmanager
async def reporting(
    directory: Path, simulator: Simulator, specs: list[TenantSpec]
) -> AsyncIterator[Reporting]:
    writer = Writer()
    async with (
        gateway(directory, specs, simulator.url) as running,
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        node = running.node
        uplink = Uplink((node.node_id, node.boot_id), writer, stored=node._stored)
        node.telemetry.uplink, uplink.before_flush = uplink, node.telemetry.settle
        yield Reporting(Served(running, simulator, http), uplink)
        await uplink.flush()
    writer.close()


def turn(number: int, **members: Any) -> bytes:
    """The conversation as the agent sends it on its n-th turn: every earlier output again."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the test."}]
    for each in range(number):
        call = {"type": "tool_use", "id": f"toolu_{each}", "name": "bash", "input": {}}
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{each}",
            "content": f"{each} {LONG}",
        }
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    body = {"model": "claude-sonnet-5", "max_tokens": 64, "messages": messages, "tools": tools}
    return json.dumps({**body, **members}).encode()


__all__ = ["AGENT", "MASK_ALL", "Reporting", "reporting", "turn"]
