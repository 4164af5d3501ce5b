"""One port for both: the data plane's paths go to the node, the rest to Django (00 §2).

The node starts in the lifespan; a server that sends none (daphne) starts it with the first
request. Source: 03-proxy-and-recovery.md 1, 06-stack.md 7.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.core.asgi import get_asgi_application
from django.db import DatabaseError

from controlplane.settings.environment import name_settings_module

name_settings_module()
django_application = get_asgi_application()

from controlplane.accounts import capture, vault  # noqa: E402  Django must be set up first
from controlplane.accounts.queries import held_key  # noqa: E402
from controlplane.bodies import Bodies, is_known  # noqa: E402
from controlplane.fleet import hints, running  # noqa: E402
from controlplane.fleet.source import EmbeddedSource  # noqa: E402
from controlplane.jobs.runner import Runner  # noqa: E402
from controlplane.live import wakes  # noqa: E402
from controlplane.live.application import Live  # noqa: E402
from controlplane.metrics.page import from_a_thread  # noqa: E402
from controlplane.settings import ENVIRONMENT  # noqa: E402
from controlplane.telemetry import hooks, writer  # noqa: E402
from dataplane.asgi import Node  # noqa: E402
from dataplane.core.door import route  # noqa: E402
from dataplane.core.door.addresses import peer_of  # noqa: E402
from dataplane.settings import from_environment  # noqa: E402

log = logging.getLogger("headrace.embedded")


class Gateway:
    """The ASGI application of a process that is both control plane and node."""

    def __init__(self) -> None:
        self._source: EmbeddedSource | None = None
        self._writer: writer.Writer | None = None
        self._jobs: Runner | None = None
        self._node: Node | None = None
        self._live = Live()
        self._bodies = Bodies(is_known)
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if not peer_of(scope.get("client")):
            scope = {**scope, "client": None}
        node = self._node or await self.start()
        if is_data_plane(scope):
            await node(scope, receive, send)
        elif Live.answers(scope):
            await self._live(scope, receive, send)
        else:
            await self._bodies.within_bounds(django_application, scope, receive, send)

    async def start(self) -> Node:
        """The node, started once; whoever comes meanwhile waits for it."""
        async with self._starting:
            if self._node is None:
                await sync_to_async(vault.refuse_unreadable)()
                await sync_to_async(capture.publish_settled)()
                self._source = EmbeddedSource()
                self._writer = writer.Writer()
                node = Node(from_environment(), self._source, secrets=held_key, sink=self._writer)
                node.pages.beside = partial(from_a_thread, self._live.clients)
                await node.start()
                running.register(node)
                writer.register(self._writer)
                hooks.follow(wakes.wake)
                hooks.subscribe(hints.hint)  # alarms are looked for at once
                if not ENVIRONMENT.celery_broker:
                    self._jobs = Runner()
                    self._jobs.start()
                await self._live.start()
                self._node = node
            return self._node

    async def stop(self) -> None:
        """Let the node finish what it answers, then give its threads back."""
        if self._node is None or self._source is None:
            return
        running.unregister()
        await self._live.stop()
        await self._node.stop()
        self._source.close()
        if self._jobs is not None:
            await asyncio.to_thread(self._jobs.stop)
        if self._writer is not None:
            hooks.unsubscribe(wakes.wake)
            hooks.unsubscribe(hints.hint)
            writer.unregister()
            await asyncio.to_thread(self._writer.close)
        self._node = self._source = None

    async def _lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        try:
            await self.start()
        except Exception as problem:
            is_ours = not isinstance(problem, OSError | DatabaseError)
            log.error("headrace.start_failed %s", problem, exc_info=is_ours)
            await send({"type": "lifespan.startup.failed", "message": str(problem)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


def is_data_plane(scope: Any) -> bool:
    return route.is_data_plane(scope.get("method", ""), scope["path"])


application = Gateway()
