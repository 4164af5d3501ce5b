"""The gateway's own addresses (03-proxy-and-recovery.md 1.2)."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from dataplane.adapters import sheets
from dataplane.adapters.compact import compact
from dataplane.adapters.expanding import expand
from dataplane.adapters.gatekeeper import is_direct_loopback, refuse_other_sites
from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.sheets import Count
from dataplane.adapters.snapshots import Tenant
from dataplane.adapters.stats import counted, kept_alive, stored
from dataplane.adapters.totals import Totals
from dataplane.core.door import identity
from dataplane.core.door.route import is_base
from dataplane.core.text import tokens

if TYPE_CHECKING:
    from dataplane.adapters.node import Node

JSON_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]


async def healthz(node: Node, call: Call) -> None:
    """The process is alive; says nothing about anything else."""
    await call.respond(200, b"ok", [(b"content-type", b"text/plain")])


async def probe(node: Node, call: Call) -> None:
    """An agent asks whether anything is there before it sends its first request."""
    await call.start(204, [(b"allow", b"HEAD, OPTIONS, GET, POST")])
    await call.write(b"", more=False)


async def readyz(node: Node, call: Call) -> None:
    ready = node.snapshots.is_ready and not node.is_draining
    body = {
        "ready": ready,
        "config": {
            "tenants": len(node.snapshots.tenants),
            "staleness_s": node.snapshots.staleness_s,
        },
    }
    await call.respond(200 if ready else 503, msgspec.json.encode(body), list(JSON_HEADERS))


async def favicon(node: Node, call: Call) -> None:
    await call.start(204, [(b"cache-control", b"public, max-age=86400")])
    await call.write(b"", more=False)


async def show_stats(node: Node, call: Call) -> None:
    """A tenant's key shows that tenant; an operator's, or a direct loopback peer without one, sees
    everything, and so does everyone where there is one tenant alone.

    With scope=host the figures are those of all workers of this host.
    """
    tenant: str | None = None
    if not node.gatekeeper.is_operator(call):
        has_key = identity.tenant_token(call.headers) is not None
        if has_key and not node.settings.is_single_tenant:
            principal, _ = node.gatekeeper.admit(call)
            tenant = principal.tenant
        elif not _is_open_here(node, call):
            raise RefusedError("view_forbidden")
    found = await _host_stats(node, tenant) if _wants_host(call) else stats(node, tenant)
    await call.respond(200, msgspec.json.encode(found), list(JSON_HEADERS))


def _is_open_here(node: Node, call: Call) -> bool:
    """Where nobody is asked who they are, and to a peer on this machine. Raises RefusedError for a
    page of another site that has a browser on this machine ask.
    """
    is_open = node.settings.is_single_tenant or is_direct_loopback(call)
    if is_open:
        refuse_other_sites(call, node.settings.allowed_hosts)
    return is_open


def _wants_host(call: Call) -> bool:
    return parse_qs(call.query).get("scope") == ["host"]


def stats(node: Node, tenant: str | None) -> dict[str, Any]:
    """The fields of /stats (03 §6.1) for one tenant id, or for the whole process."""
    totals = node.telemetry.process if tenant is None else node.telemetry.of(tenant)
    return {
        **_document(node, tenant, Count(totals, node.store.stats(tenant)), node.keepalive.live),
        "scope": "process" if tenant is None else "tenant",
        "uptime_s": round(time.time() - node.started_at, 1),
        "inflight": node.inflight,
        "tasks": node.tasks,
    }


async def _host_stats(node: Node, tenant: str | None) -> dict[str, Any]:
    """The same over all workers of this host, as they were last published."""
    workers = await node.publisher.workers()
    whole = await asyncio.to_thread(sheets.summed, workers)
    count = whole.count
    if tenant is not None:
        none = Count(Totals(), node.store.stats(tenant))
        count = await asyncio.to_thread(sheets.of_tenant, workers, tenant, none)
    return {
        **_document(node, tenant, count, whole.kept),
        "scope": "host",
        "uptime_s": round(time.time() - whole.started_at, 1),
        "inflight": whole.inflight,
        "tasks": None,
        "workers": {"living": len(workers.living), "gone": len(workers.gone)},
    }


def _document(node: Node, tenant: str | None, count: Count, kept: Counter[str]) -> dict[str, Any]:
    """kept: threads whose caches are kept alive, by tenant."""
    snapshots, served = node.snapshots, node.snapshots.tenants.get(tenant or "")
    foreign = count.totals.unresolved["foreign_tenant"]
    return {
        **counted(count.totals),
        **_kept_alive(node, tenant, count.totals, kept),
        **stored(count.store, node.publisher.disk_used_ratio),
        # Only the process as a whole says it: a tenant must not learn what others own.
        "expand_unresolved_foreign_tenant": foreign if tenant is None else 0,
        "mode": _mode(served),
        "tenant": tenant or "",
        "node": node.node_id,
        "environment": {one.variable: one.said for one in node.settings.imposed},
        "counter": tokens.COUNTER,
        "snapshot": {
            "version": served.version[1] if served else None,
            "hash": served.hash if served else None,
            "staleness_s": snapshots.staleness_s,
            "last_nack": snapshots.last_nack or None,
        },
    }


def _kept_alive(
    node: Node, tenant: str | None, totals: Totals, kept: Counter[str]
) -> dict[str, Any]:
    """The object `keepalive`; left out where no document asks for it and none did."""
    served = node.snapshots.tenants
    asked = served.values() if tenant is None else filter(None, (served.get(tenant),))
    wanted = any(each.plan.cache.keepalive for each in asked)
    if not (wanted or totals.not_kept or totals.counts["keepalive_pings"]):
        return {}
    return {"keepalive": kept_alive(totals, kept.total() if tenant is None else kept[tenant])}


def _mode(served: Tenant | None) -> str:
    """The tenant's; of the whole process the mode that a tenant has who says nothing."""
    if served is None:
        return "sync"
    return "observe" if served.plan.kill.observe else served.plan.host.mode


async def metrics(node: Node, call: Call) -> None:
    if not (_has_metrics_token(node, call) or _is_open_here(node, call)):
        raise RefusedError("view_forbidden")
    page = node.pages.host if _wants_host(call) else node.pages.process
    await call.respond(200, await page(), [(b"content-type", b"text/plain; version=0.0.4")])


def _has_metrics_token(node: Node, call: Call) -> bool:
    wanted = node.settings.metrics_token.encode()
    given = next(identity.credentials_in(call.headers, (b"authorization",)), b"")
    return bool(wanted) and hmac.compare_digest(wanted, given)


async def show_config(node: Node, call: Call) -> None:
    """What a tenant is served from, by id or slug, for an operator; no digest of any key."""
    node.gatekeeper.require_operator(call)
    name = call.path.removeprefix(DEBUG_CONFIG)
    known = node.snapshots.tenants
    served = known.get(name) or next((t for t in known.values() if t.body.slug == name), None)
    if served is None:
        raise RefusedError("not_found")
    found = {
        "tenant": served.body.tenant,
        "slug": served.body.slug,
        "status": served.body.status,
        "epoch": served.version[0],
        "version": served.version[1],
        "hash": served.hash,
        "variants": [
            {
                "id": each.id,
                "role": each.role,
                "config_version": each.config_version,
                "config_hash": each.config_hash,
            }
            for each in served.body.variants
        ],
        "last_nack": node.snapshots.last_nack or None,
    }
    await call.respond(200, msgspec.json.encode(found), list(JSON_HEADERS))


DEBUG_CONFIG = "/debug/config/"
View = Callable[["Node", Call], Awaitable[None]]
_PROBES = ("HEAD", "OPTIONS")
OWN: dict[str, View] = {
    "/healthz": healthz,
    "/readyz": readyz,
    "/favicon.ico": favicon,
    "/stats": show_stats,
    "/metrics": metrics,
    "/expand": expand,
    "/compact": compact,
}


def view_of(call: Call) -> View | None:
    """The view that answers here; None for a provider route."""
    if call.method in _PROBES and is_base(call.path):
        return probe
    if call.path.startswith(DEBUG_CONFIG):
        return show_config
    return OWN.get(call.path)
