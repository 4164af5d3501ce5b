"""Nodes as processes of their own: `uvicorn dataplane.asgi:application` on a loopback port."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from dataplane.core import resource
from tests import house
from tests.dataplane.gateway import TenantSpec, resources
from tests.patience import PATIENCE_MS, PATIENCE_S
from tests.servers import free_port

READY_POLL_S = 0.02


def write_snapshot(path: Path, specs: list[TenantSpec], upstream_url: str) -> Path:
    path.write_bytes(resource.bundle(resources(specs, upstream_url)))
    return path


@dataclass
class NodeProcess:
    """One node; started again after a kill it has the same address and the same state."""

    snapshot: Path
    state_dir: Path
    port: int
    environment: Mapping[str, str]
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.snapshot.with_name(f"node-{self.port}.log")

    async def start(self) -> None:
        """Spawn it; it is not ready yet."""
        uvicorn = ["-m", "uvicorn", "dataplane.asgi:application", "--log-level", "warning"]
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        environment = {
            "PATH": os.defpath,
            "HEADRACE_SNAPSHOT": str(self.snapshot),
            "HEADRACE_STATE_DIR": str(self.state_dir),
            "HEADRACE_LOG_LEVEL": "warning",
            **self.environment,
        }
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, *uvicorn, *address,
                cwd=house.ROOT, env=environment, stdout=log, stderr=log,
            )  # fmt: skip

    async def wait_until_ready(self) -> None:
        assert self.process is not None
        async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(trust_env=False) as http:
            while True:
                assert self.process.returncode is None, self.log.read_text(encoding="utf-8")
                try:
                    if (await http.get(f"{self.url}/readyz")).is_success:
                        return
                except httpx.TransportError:
                    await asyncio.sleep(READY_POLL_S)

    async def kill(self) -> None:
        """SIGKILL: nothing is flushed, closed or said goodbye to."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


def node_process(
    directory: Path, specs: list[TenantSpec], upstream_url: str, **environment: str
) -> NodeProcess:
    """A node that is not started; those of one directory share snapshot and state.

    A machine that does six things at once is no slow store, so its commits may take their time.
    """
    snapshot = write_snapshot(directory / "snapshot.json", specs, upstream_url)
    patient = {"HEADRACE_STORE_COMMIT_TIMEOUT_MS": str(PATIENCE_MS), **environment}
    return NodeProcess(snapshot, directory / "state", free_port(), patient)
