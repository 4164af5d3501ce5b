"""One data-plane process as an ASGI application: route, admit, hand over.

Source: 03-proxy-and-recovery.md 1.1, 1.2, 2.1; 07-house-style.md 4.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from dataplane.adapters import failpoints
from dataplane.adapters.beside.garbage import Garbage
from dataplane.adapters.beside.keepalive import KeepAlive
from dataplane.adapters.beside.observing import Observer
from dataplane.adapters.beside.pinging import Pinger
from dataplane.adapters.carrying.proxy import CLIENT_GONE, Proxy
from dataplane.adapters.door.admission import Admission, Door, wish_of
from dataplane.adapters.door.credentials import Credentials, Secrets
from dataplane.adapters.drive import Driver, performer
from dataplane.adapters.figures import logs
from dataplane.adapters.figures.arrivals import Arrivals
from dataplane.adapters.figures.books import Books
from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.adapters.figures.uplink import Seen, Sink, Uplink
from dataplane.adapters.http import Call, DisconnectedError, Receive, RefusedError, Scope, Send
from dataplane.adapters.outward.upstream import UpstreamClient
from dataplane.adapters.own import views
from dataplane.adapters.own.pages import MetricsPages
from dataplane.adapters.own.publishing import Publisher
from dataplane.adapters.own.views import Shown
from dataplane.adapters.parts import Parts
from dataplane.adapters.request_ids import new_request_id
from dataplane.adapters.serving.lastgood import LastGood
from dataplane.adapters.serving.snapshot_file import node_identity
from dataplane.adapters.serving.snapshots import Snapshots, Tenant
from dataplane.adapters.stores import opening
from dataplane.adapters.stores.choice import chosen, store_set
from dataplane.adapters.stores.tally import COUNTERS, GAUGES
from dataplane.adapters.ticket import Ticket
from dataplane.core.door.credential import names_a_key
from dataplane.core.door.identity import holds_key
from dataplane.core.door.refusal import REFUSALS, body_of, headers_of
from dataplane.core.door.route import Route, RouteError, match
from dataplane.core.effects import Recalled
from dataplane.core.effects import Scope as Owner
from dataplane.core.resource import Source
from dataplane.core.serving.overrides import Wish
from dataplane.core.text import tokens
from dataplane.settings import Settings
from dataplane.tasks import ended

log = logging.getLogger("headrace.node")
DRAIN_S = 25
# The event loop shares the interpreter with threads that shape bodies and write the store; a
# shorter turn than the default 5 ms keeps streams prompt.
SWITCH_INTERVAL_S = 0.001


class Node:
    """One data-plane process: what it serves, what it keeps, and the requests in it."""

    def __init__(
        self,
        settings: Settings,
        source: Source,
        secrets: Secrets | None = None,
        sink: Sink | None = None,
    ) -> None:
        """secrets: the key behind a key_ref, asked at every request; None: the environment's.

        sink: who is told of every request; None for nobody.
        """
        self.settings = settings
        self.started_at = time.time()
        self.node_id, self.boot_id = node_identity(settings.state_dir)
        self.arrivals = Arrivals()
        self.store = store_set(settings)
        self.uplink = self._uplink_to(sink) if sink is not None else None
        self.telemetry = Telemetry(self.uplink)
        self.observer = Observer(store_set(settings, shadow=True), self.telemetry)
        failpoints.arm(settings.failpoint)
        last_good, ids = LastGood(settings.config_dir), (self.node_id, self.boot_id)
        self.snapshots = Snapshots(source, last_good, *ids, on_tenant=self._configure_store)
        self.parts = self._parts_with(secrets or settings.secret)
        self.door = self.parts.door
        self._upstream = UpstreamClient(settings, self.snapshots.may_be_private)
        self.keepalive = KeepAlive(self.parts, Pinger(self.parts, self._upstream))
        self.snapshots.on_change = self.keepalive.review
        self.publisher = Publisher(self.parts, self.keepalive)
        self.pages = MetricsPages(self.publisher, self.snapshots)
        self._proxy = Proxy(self.parts, self._upstream, self.observer, self.keepalive)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: opening.Thread | None = None
        self._following: asyncio.Task[None] | None = None
        self._garbage = Garbage()
        self._idle = asyncio.Event()

    def _parts_with(self, secrets: Secrets) -> Parts:
        return Parts(
            self.settings,
            self.node_id,
            self.boot_id,
            self.started_at,
            self.store,
            self.snapshots,
            self.telemetry,
            Door(self.settings, self.snapshots),
            Books(self.snapshots, self.telemetry),
            Credentials(self.settings, secrets),
            Driver(inline_max=self.settings.inline_body_max),
        )

    # ---- life -----------------------------------------------------------------------------

    async def start(self) -> None:
        """Serve what was last good, then ask the source for what is new."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._loop = asyncio.get_running_loop()
        self._thread = opening.Thread(self._loop)
        await asyncio.to_thread(tokens.load)
        await asyncio.to_thread(self.snapshots.restore)
        if self.store.minted is not None:
            self.store.minted.on_foreign = partial(self.telemetry.unresolved, "foreign_tenant", "")
        await self.store.start()
        if self.settings.shadow_dir.is_dir() or self.settings.store_redis:
            await self.observer.open()  # what was projected for a tenant since purged goes, too
        await self._upstream.start()
        # A node starts and serves without its control plane; it keeps asking.
        await self.snapshots.try_refresh()
        await self.publisher.start()
        if self.uplink is not None:
            self.uplink.start()
        self._following = asyncio.get_running_loop().create_task(self.snapshots.follow())
        self._garbage.start()
        if self.settings.is_single_tenant:
            log.warning("cg.single_tenant everyone who reaches this node is served, unasked")
        if not self.snapshots.is_ready:
            log.warning("cg.not_ready no configuration yet: requests get 503 until there is one")
        log.info("cg.node_started node=%s tenants=%d", self.node_id, len(self.snapshots.tenants))

    async def stop(self) -> None:
        """Refuse new requests, let those in flight finish for a while, then close."""
        self.door.is_draining = True
        await self.keepalive.close()
        self._idle.clear()
        if self.door.inflight:
            try:
                async with asyncio.timeout(DRAIN_S):
                    await self._idle.wait()
            except TimeoutError:
                log.warning("cg.drain_timeout inflight=%d", self.door.inflight)
        if self._following is not None:
            await ended(self._following)
        self.parts.driver.close()
        await self.observer.stop()
        await self._upstream.close()
        await self.publisher.stop()
        if self.uplink is not None:
            await self.uplink.stop()
        await self.store.close()
        self._garbage.stop()
        log.info("cg.node_stopped node=%s", self.node_id)

    @property
    def tasks(self) -> int:
        """Tasks on the node's event loop now; what is left at rest was leaked."""
        return len(asyncio.all_tasks(self._loop)) if self._loop is not None else 0

    def _configure_store(self, tenant: Tenant) -> None:
        uid = tenant.body.tenant
        for store in (self.store, self.observer.store):
            if tenant.body.status == "purged":
                store.retire(uid)
            else:
                store.configure(uid, *chosen(tenant.body.store))

    def _uplink_to(self, sink: Sink) -> Uplink:
        seen = Seen(self.arrivals.take_used, self._gauges)
        return Uplink((self.node_id, self.boot_id), sink, stored=self._stored, seen=seen)

    def _gauges(self) -> dict[str, int]:
        """How it is now, for pages and alarms: the names are those of /stats, but for the disk."""
        used = round(1000 * self.publisher.disk_used_ratio)
        found = {"inflight": self.door.inflight, "tasks": self.tasks, "disk_used_permille": used}
        if self.telemetry.process.counts["all_requests"]:
            # Until then the files of a store are not looked at, and it would say 0.
            held = self.store.stats(None)
            found |= {name: getattr(held, name) for name in GAUGES}
        return found

    def _stored(self, tenant: str) -> dict[str, int]:
        stats = self.store.stats(tenant)
        return {name: getattr(stats, name) for name in COUNTERS}

    def stats(self, tenant: str | None = None) -> dict[str, Any]:
        """The fields of /stats for one tenant id, or for the whole process.

        From any thread; TimeoutError when the loop is busy for long.
        """
        question = partial(views.stats, self._shown, tenant)
        return self._thread.answer(question) if self._thread else question()

    @property
    def _shown(self) -> Shown:
        return Shown(self.parts, self.keepalive, self.publisher, self.pages, lambda: self.tasks)

    def original(self, tenant: str, session: str, marker_id: str) -> Recalled:
        """The original of a marker of the session; for a thread other than the node's."""
        return opening.opened(self.store, self._loop, Owner(tenant, "", session), marker_id)

    # ---- requests -------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await self._refuse_websocket(scope, receive, send)
        else:
            await self._serve(Call(scope, receive, send, new_request_id()))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except Exception as error:
            log.error("cg.start_failed %s", error, exc_info=not isinstance(error, OSError))
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, call: Call) -> None:
        self.door.inflight += 1
        try:
            if self.settings.test_clock:
                await self.keepalive.advance(self.door.instant(call))
            view = views.view_of(call)
            await (view(self._shown, call) if view is not None else self._carry(call))
        except RefusedError as error:
            await self._refuse(call, error)
        except DisconnectedError:
            log.debug("cg.client_gone path=%s", logs.safe_path(call.path))
        except Exception as error:  # noqa: BLE001  logged, and not by the server, which quotes it
            # The server ends what has no end: a 500, or a connection that is cut.
            logs.fault(log, "cg.fault path=%s", error, logs.safe_path(call.path))
        finally:
            self.door.inflight -= 1
            if not self.door.inflight:
                self._idle.set()

    async def _refuse(self, call: Call, error: RefusedError) -> None:
        self.telemetry.refuse(error.refusal.counted, error.tenant)
        log.warning(
            "cg.refused name=%s tenant=%s path=%s",
            error.refusal.name,
            error.tenant or "local",
            logs.safe_path(call.path),
        )
        await call.refuse(error)

    async def _refuse_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say before the handshake that HTTP is spoken here: clients then use it at once."""
        refusal, request_id = REFUSALS["unsupported_upgrade"], new_request_id()
        self.telemetry.refuse(refusal.counted)
        log.info("cg.refused name=%s path=%s", refusal.name, logs.safe_path(scope["path"]))
        await receive()
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": 1002})
            return
        body = body_of(refusal, _family_of(scope["path"]), request_id=request_id)
        headers = headers_of(refusal, request_id=request_id)
        headers.append((b"content-length", b"%d" % len(body)))
        start = {"type": "websocket.http.response.start", "status": refusal.status}
        await send({**start, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": body})

    async def _carry(self, call: Call) -> None:
        """A provider route: find the route, the caller and the upstream, then carry it."""
        started = time.perf_counter()
        route = _route_of(call)
        call.family = route.envelope
        with self.door.admitted(call, slug=route.slug) as admission:
            ticket = self._ticket(route, admission)
            try:
                await self._proxy.serve(ticket)
            except DisconnectedError:
                ticket.record.status, ticket.record.outcome = CLIENT_GONE, "client_disconnect"
            except BaseException:
                # A fault of ours; or the server stops, and has waited for long.
                ticket.record.outcome = "truncated"
                raise
            finally:
                ticket.record.serve_ms = (time.perf_counter() - started) * 1000
                self.parts.books.account(ticket.record)
                self.arrivals.add(admission.principal.name, ticket.record)

    def _ticket(self, route: Route, admission: Admission) -> Ticket:
        call, tenant = admission.call, admission.tenant
        name = tenant.body.upstreams.get(route.family, "")
        upstream = self.snapshots.upstreams.get(name)
        if upstream is None:
            raise RefusedError("no_upstream")
        if names_a_key(upstream) and not route.is_open_to_all(call.method):
            raise RefusedError("route_forbidden")
        wish = wish_of(call) if route.dialect else Wish()
        plan, ignored = self.snapshots.plan_for(tenant, wish)
        record = admission.record(route.name, route.family)
        record.address = upstream.base_url
        return Ticket(
            call,
            route,
            tenant,
            admission.principal.name,
            record,
            upstream,
            self.parts.credentials.plan(upstream, call.headers),
            self.parts.driver,
            performer(self.store, partial(self.telemetry.committed, tenant=tenant.body.tenant)),
            persists=self.store.backend_for(tenant.body.tenant).persists,
            room=admission.room,
            plan=plan,
            ignored=ignored,
        )


def _route_of(call: Call) -> Route:
    """The provider route that a request asks for. Raises RefusedError."""
    if holds_key(unquote_to_bytes(call.query)):
        raise RefusedError("token_in_url")
    if call.header(b"upgrade").lower() == "websocket":  # a server that speaks none passed it on
        call.family = _family_of(call.path)
        raise RefusedError("unsupported_upgrade")
    is_anthropic = bool(call.header(b"anthropic-version"))
    try:
        return match(call.spelt_path, method=call.method, is_anthropic=is_anthropic)
    except RouteError as error:
        call.family = error.envelope
        raise RefusedError(str(error), detail=error.detail) from None


def _family_of(path: str) -> str:
    """Whose error envelope belongs to an address; "" where no provider's does."""
    try:
        return match(path, method="POST", is_anthropic=False).envelope
    except RouteError as error:
        return error.envelope
