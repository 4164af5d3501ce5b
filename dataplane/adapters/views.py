"""The gateway's own addresses (03-proxy-and-recovery.md 1.2)."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from dataplane.adapters.gatekeeper import is_direct_loopback
from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.metrics import exposition
from dataplane.adapters.telemetry import stats_of
from dataplane.core import identity, tokens
from dataplane.core.effects import Found, Recall, Recalled, Scope
from dataplane.core.session import usable

if TYPE_CHECKING:
    from dataplane.adapters.node import Node

JSON_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
_GONE = (Found.EXPIRED, Found.DELETED)
_UNREADABLE = (Found.LOST, Found.STORE_ERROR)


async def healthz(node: Node, call: Call) -> None:
    """The process is alive; says nothing about anything else."""
    await call.respond(200, b"ok", [(b"content-type", b"text/plain")])


async def readyz(node: Node, call: Call) -> None:
    ready = node.snapshots.is_ready and not node.is_draining
    body = {
        "ready": ready,
        "config": {
            "tenants": len(node.snapshots.tenants),
            "staleness_s": round(max(0.0, time.time() - node.snapshots.contact_at), 1)
            if node.snapshots.contact_at
            else None,
        },
    }
    await call.respond(200 if ready else 503, msgspec.json.encode(body), list(JSON_HEADERS))


async def favicon(node: Node, call: Call) -> None:
    await call.start(204, [(b"cache-control", b"public, max-age=86400")])
    await call.write(b"", more=False)


async def show_stats(node: Node, call: Call) -> None:
    """A tenant's key shows that tenant; a direct loopback peer without one sees the process."""
    if identity.tenant_token(call.headers) is not None:
        principal, _ = node.gatekeeper.admit(call)
        found = stats(node, principal.tenant)
    elif is_direct_loopback(call):
        found = stats(node, None)
    else:
        raise RefusedError("view_forbidden")
    await call.respond(200, msgspec.json.encode(found), list(JSON_HEADERS))


def stats(node: Node, tenant: str | None) -> dict[str, Any]:
    """The fields of /stats (03 section 6.1) for one tenant id, or for the whole process."""
    totals = node.telemetry.total() if tenant is None else node.telemetry.of(tenant)
    served = node.snapshots.tenants.get(tenant or "")
    store = node.store.stats(tenant)
    return {
        **stats_of(totals),
        "scope": "process" if tenant is None else "tenant",
        "tenant": tenant or "",
        "node": node.node_id,
        "counter": tokens.COUNTER,
        "uptime_s": round(time.time() - node.started_at, 1),
        "inflight": node.inflight,
        "snapshot": {
            "version": served.version[1] if served else None,
            "hash": served.hash if served else None,
            "last_nack": node.snapshots.last_nack or None,
        },
        **_store_fields(store),
    }


_FLAT = ("stash_", "frozen_")


def _store_fields(store: Any) -> dict[str, Any]:
    fields = msgspec.to_builtins(store)
    flat = {name: value for name, value in fields.items() if name.startswith(_FLAT)}
    flat["frozen_flips"] = flat["frozen_dropped"] - flat["frozen_repaired"]
    nested = {name: value for name, value in fields.items() if not name.startswith(_FLAT)}
    return {**flat, "store": nested}


async def metrics(node: Node, call: Call) -> None:
    if not (is_direct_loopback(call) or _has_metrics_token(node, call)):
        raise RefusedError("view_forbidden")
    await call.respond(200, exposition(node), [(b"content-type", b"text/plain; version=0.0.4")])


def _has_metrics_token(node: Node, call: Call) -> bool:
    wanted = node.settings.metrics_token.encode()
    given = next(identity.credentials_in(call.headers, (b"authorization",)), b"")
    return bool(wanted) and hmac.compare_digest(wanted, given)


async def expand(node: Node, call: Call) -> None:
    """GET /expand?id=: the exact bytes of one original, for the session that owns it."""
    principal, tenant = node.gatekeeper.admit(call)
    query = parse_qs(call.scope.get("query_string", b"").decode("latin-1"))
    wanted = query.get("id", [""])[0]
    session = usable(call.header(b"x-context-guru-session") or query.get("session", [""])[0])
    recalled = Recalled(Found.NEVER_MINTED)
    if session:
        scope = Scope(tenant.body.tenant, principal.name, session)
        recalled = await node.store.recall(Recall(scope, wanted, node.instant(call), keep=False))
    await _respond_original(node, call, recalled, tenant.body.tenant)


async def _respond_original(node: Node, call: Call, recalled: Recalled, tenant: str) -> None:
    if recalled.found in (*_GONE, *_UNREADABLE):
        node.telemetry.of(tenant).unresolved[recalled.found.value] += 1
        raise RefusedError("gone" if recalled.found in _GONE else "recovery_unavailable")
    if recalled.original is None:
        # One answer for unknown, foreign and sessionless: it must not tell which ids exist.
        raise RefusedError("not_found")
    digest = hashlib.sha256(recalled.original).hexdigest()
    await call.respond(
        200,
        recalled.original,
        [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"etag", f'"sha256:{digest}"'.encode()),
            (b"x-cg-original-sha256", digest.encode()),
            (b"x-cg-total-bytes", b"%d" % len(recalled.original)),
            (b"cache-control", b"no-store"),
        ],
    )


View = Callable[["Node", Call], Awaitable[None]]
OWN: dict[str, View] = {
    "/healthz": healthz,
    "/readyz": readyz,
    "/favicon.ico": favicon,
    "/stats": show_stats,
    "/metrics": metrics,
    "/expand": expand,
}
