"""A real node on a loopback port, from a snapshot file, in front of the simulated provider."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from dataplane.adapters.figures.uplink import Sink
from dataplane.adapters.serving.snapshot_file import FileSource
from dataplane.asgi import Node
from dataplane.core import resource
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.resource import Envelope, Resource
from dataplane.server import GuardedProtocol
from dataplane.settings import Settings
from tests.patience import PATIENCE_MS, until

TA = "cg_live_AAAAAAAAAAAAAAAAAAAAAAAAAA"
TB = "cg_live_BBBBBBBBBBBBBBBBBBBBBBBBBB"
LOOKS_FOR_REST = 50  # a millisecond apart
MASK = "pipeline: [mask]\ncomponents: {mask: {keep_recent: 1}}\n"


@dataclass
class TenantSpec:
    """One tenant of a test: its slug, its key and its document."""

    slug: str
    key: str
    document: str = MASK
    principal: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    kind: str = resource.TOKEN_KIND

    @property
    def uid(self) -> str:
        return f"ten_{self.slug}"


def tenants(document: str = MASK, **facts: Any) -> list[TenantSpec]:
    """Tenants A (acme) and B (birch) with the same document."""
    return [
        TenantSpec("acme", TA, document, "pa", facts),
        TenantSpec("birch", TB, document, "pb", facts),
    ]


def resources(
    specs: list[TenantSpec], upstream_url: str, upstream: Mapping[str, Any] | None = None
) -> list[Resource]:
    """Everything a node needs to serve these tenants from one upstream with these facts."""
    facts = upstream or {}
    upstreams = [
        resource.Upstream("sim-a", "anthropic", upstream_url, **facts),
        resource.Upstream("sim-o", "openai", upstream_url, **facts),
    ]
    shards: dict[str, list[resource.AuthEntry]] = {digit: [] for digit in "0123456789abcdef"}
    for spec in specs:
        digest = hashlib.sha256(spec.key.encode()).hexdigest()
        shards[digest[0]].append((digest, spec.kind, spec.uid, spec.principal))
    found = [_sealed(resource.NODE, "default", resource.encode(resource.NodeBody(upstreams)))]
    found.append(_sealed(resource.PRICES, "default", resource.encode(resource.PricesBody({}))))
    found += [
        _sealed(resource.AUTH_INDEX, digit, resource.encode(entries))
        for digit, entries in shards.items()
    ]
    return found + [tenant_resource(spec) for spec in specs]


def tenant_resource(spec: TenantSpec, version: int = 1) -> Resource:
    checked = check(spec.document, context=Context(components()))
    assert checked.effective is not None, checked.problems
    effective = checked.effective
    variant = resource.Variant(
        f"v{version}",
        version,
        "sha256:" + effective.effective_hash,
        "base",
        effective.host,
        msgspec.to_builtins(effective.document),
    )
    body = resource.TenantBody(
        spec.uid,
        spec.slug,
        spec.slug.title(),
        {"anthropic": "sim-a", "openai": "sim-o"},
        [variant],
        store=effective.document["store"],
        **spec.facts,
    )
    return _sealed(resource.TENANT, spec.uid, resource.encode(body), version)


def _sealed(kind: str, name: str, body: bytes, version: int = 1) -> Resource:
    return Resource(Envelope(kind, name, 1, version, resource.hash_of(body)), body)


@dataclass
class Gateway:
    """A running node. url: where it listens. node: the object itself, for its counters."""

    url: str
    node: Node
    _server: uvicorn.Server

    def stats(self, slug: str = "acme") -> dict[str, Any]:
        return self.node.stats(f"ten_{slug}")


@contextlib.asynccontextmanager
async def gateway(
    state_dir: Path,
    specs: list[TenantSpec],
    upstream_url: str,
    *,
    upstream: Mapping[str, Any] | None = None,
    secrets: Callable[[str], str | None] | None = None,
    sink: Sink | None = None,
    **settings: Any,
) -> AsyncIterator[Gateway]:
    """Serve with uvicorn on a free port until the block is left.

    Commits may take their time unless the test says otherwise: a busy machine is no store fault.
    """
    settings.setdefault("store_commit_timeout_ms", PATIENCE_MS)
    bundle = state_dir / "snapshot.json"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_bytes(resource.bundle(resources(specs, upstream_url, upstream)))
    node = Node(Settings(state_dir / "state", **settings), FileSource(bundle), secrets, sink)
    async with listening(node) as running:
        yield running


class PromptServer(uvicorn.Server):
    """uvicorn as it is, but for the end: it looks ten times a second whether it shall stop, and
    waits as long for connections that may be gone. Most tests take less than that.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ends = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._ends.set()

    async def main_loop(self) -> None:
        ticks = itertools.count()
        while not await self.on_tick(next(ticks)):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await self._ends.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for _ in range(LOOKS_FOR_REST):
            if not (self.server_state.connections or self.server_state.tasks):
                await self.lifespan.shutdown()
                return
            await asyncio.sleep(0.001)
        await super().shutdown(sockets)


@contextlib.asynccontextmanager
async def listening(node: Node) -> AsyncIterator[Gateway]:
    """The node on a free port until the block is left."""
    config = uvicorn.Config(
        node,
        port=0,
        http=GuardedProtocol,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = PromptServer(config)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server._serve())
        await until(lambda: server.started or serving.done())
        assert server.started
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield Gateway(f"http://127.0.0.1:{port}", node, server)
        finally:
            server.stop()
