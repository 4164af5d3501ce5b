"""The gateway's own addresses (03-proxy-and-recovery.md 1.2)."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec

from dataplane.adapters.beside.keepalive import KeepAlive
from dataplane.adapters.door.gatekeeper import is_direct_loopback, refuse_other_sites
from dataplane.adapters.figures import sheets
from dataplane.adapters.figures.sheets import Count
from dataplane.adapters.figures.stats import counted, kept_alive, stored
from dataplane.adapters.figures.totals import Totals
from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.own.compact import compact
from dataplane.adapters.own.expanding import expand
from dataplane.adapters.own.pages import MetricsPages
from dataplane.adapters.own.publishing import Publisher
from dataplane.adapters.parts import Parts
from dataplane.adapters.serving.snapshots import Tenant
from dataplane.core.door import identity
from dataplane.core.door.route import is_base
from dataplane.core.text import tokens


class Shown(NamedTuple):
    """What a node answers from about itself. tasks: on its event loop now."""

    parts: Parts
    keepalive: KeepAlive
    publisher: Publisher
    pages: MetricsPages
    tasks: Callable[[], int]


JSON_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]


async def healthz(shown: Shown, call: Call) -> None:
    """The process is alive; says nothing about anything else."""
    await call.respond(200, b"ok", [(b"content-type", b"text/plain")])


async def probe(shown: Shown, call: Call) -> None:
    """An agent asks whether anything is there before it sends its first request."""
    await call.start(204, [(b"allow", b"HEAD, OPTIONS, GET, POST")])
    await call.write(b"", more=False)


async def readyz(shown: Shown, call: Call) -> None:
    ready = shown.parts.snapshots.is_ready and not shown.parts.door.is_draining
    body = {
        "ready": ready,
        "config": {
            "tenants": len(shown.parts.snapshots.tenants),
            "staleness_s": shown.parts.snapshots.staleness_s,
        },
    }
    await call.respond(200 if ready else 503, msgspec.json.encode(body), list(JSON_HEADERS))


async def favicon(shown: Shown, call: Call) -> None:
    await call.start(204, [(b"cache-control", b"public, max-age=86400")])
    await call.write(b"", more=False)


async def show_stats(shown: Shown, call: Call) -> None:
    """A tenant's key shows that tenant; an operator's, or a direct loopback peer without one, sees
    everything, and so does everyone where there is one tenant alone.

    With scope=host the figures are those of all workers of this host.
    """
    tenant: str | None = None
    if not shown.parts.door.gatekeeper.is_operator(call):
        has_key = identity.tenant_token(call.headers) is not None
        if has_key and not shown.parts.settings.is_single_tenant:
            principal, _ = shown.parts.door.gatekeeper.admit(call)
            tenant = principal.tenant
        elif not _is_open_here(shown, call):
            raise RefusedError("view_forbidden")
    found = await _host_stats(shown, tenant) if _wants_host(call) else stats(shown, tenant)
    await call.respond(200, msgspec.json.encode(found), list(JSON_HEADERS))


def _is_open_here(shown: Shown, call: Call) -> bool:
    """Where nobody is asked who they are, and to a peer on this machine. Raises RefusedError for a
    page of another site that has a browser on this machine ask.
    """
    is_open = shown.parts.settings.is_single_tenant or is_direct_loopback(call)
    if is_open:
        refuse_other_sites(call, shown.parts.settings.allowed_hosts)
    return is_open


def _wants_host(call: Call) -> bool:
    return parse_qs(call.query).get("scope") == ["host"]


def stats(shown: Shown, tenant: str | None) -> dict[str, Any]:
    """The fields of /stats (03 §6.1) for one tenant id, or for the whole process."""
    telemetry, store = shown.parts.telemetry, shown.parts.store
    totals = telemetry.process if tenant is None else telemetry.of(tenant)
    return {
        **_document(shown, tenant, Count(totals, store.stats(tenant)), shown.keepalive.live),
        "scope": "process" if tenant is None else "tenant",
        "uptime_s": round(time.time() - shown.parts.started_at, 1),
        "inflight": shown.parts.door.inflight,
        "tasks": shown.tasks(),
    }


async def _host_stats(shown: Shown, tenant: str | None) -> dict[str, Any]:
    """The same over all workers of this host, as they were last published."""
    workers = await shown.publisher.workers()
    whole = await asyncio.to_thread(sheets.summed, workers)
    count = whole.count
    if tenant is not None:
        none = Count(Totals(), shown.parts.store.stats(tenant))
        count = await asyncio.to_thread(sheets.of_tenant, workers, tenant, none)
    return {
        **_document(shown, tenant, count, whole.kept),
        "scope": "host",
        "uptime_s": round(time.time() - whole.started_at, 1),
        "inflight": whole.inflight,
        "tasks": None,
        "workers": {"living": len(workers.living), "gone": len(workers.gone)},
    }


def _document(shown: Shown, tenant: str | None, count: Count, kept: Counter[str]) -> dict[str, Any]:
    """kept: threads whose caches are kept alive, by tenant."""
    snapshots, served = shown.parts.snapshots, shown.parts.snapshots.tenants.get(tenant or "")
    foreign = count.totals.unresolved["foreign_tenant"]
    return {
        **counted(count.totals),
        **_kept_alive(shown, tenant, count.totals, kept),
        **stored(count.store, shown.publisher.disk_used_ratio),
        # Only the process as a whole says it: a tenant must not learn what others own.
        "expand_unresolved_foreign_tenant": foreign if tenant is None else 0,
        "mode": _mode(served),
        "tenant": tenant or "",
        "node": shown.parts.node_id,
        "environment": {one.variable: one.said for one in shown.parts.settings.imposed},
        "counter": tokens.COUNTER,
        "snapshot": {
            "version": served.version[1] if served else None,
            "hash": served.hash if served else None,
            "staleness_s": snapshots.staleness_s,
            "last_nack": snapshots.last_nack or None,
        },
    }


def _kept_alive(
    shown: Shown, tenant: str | None, totals: Totals, kept: Counter[str]
) -> dict[str, Any]:
    """The object `keepalive`; left out where no document asks for it and none did."""
    served = shown.parts.snapshots.tenants
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


async def metrics(shown: Shown, call: Call) -> None:
    if not (_has_metrics_token(shown, call) or _is_open_here(shown, call)):
        raise RefusedError("view_forbidden")
    page = shown.pages.host if _wants_host(call) else shown.pages.process
    await call.respond(200, await page(), [(b"content-type", b"text/plain; version=0.0.4")])


def _has_metrics_token(shown: Shown, call: Call) -> bool:
    wanted = shown.parts.settings.metrics_token.encode()
    given = next(identity.credentials_in(call.headers, (b"authorization",)), b"")
    return bool(wanted) and hmac.compare_digest(wanted, given)


async def show_config(shown: Shown, call: Call) -> None:
    """What a tenant is served from, by id or slug, for an operator; no digest of any key."""
    shown.parts.door.gatekeeper.require_operator(call)
    name = call.path.removeprefix(DEBUG_CONFIG)
    known = shown.parts.snapshots.tenants
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
        "last_nack": shown.parts.snapshots.last_nack or None,
    }
    await call.respond(200, msgspec.json.encode(found), list(JSON_HEADERS))


DEBUG_CONFIG = "/debug/config/"
View = Callable[[Shown, Call], Awaitable[None]]
_PROBES = ("HEAD", "OPTIONS")
OWN: dict[str, View] = {
    "/healthz": healthz,
    "/readyz": readyz,
    "/favicon.ico": favicon,
    "/stats": show_stats,
    "/metrics": metrics,
    "/expand": lambda shown, call: expand(shown.parts, call),
    "/compact": lambda shown, call: compact(shown.parts, call),
}


def view_of(call: Call) -> View | None:
    """The view that answers here; None for a provider route."""
    if call.method in _PROBES and is_base(call.path):
        return probe
    if call.path.startswith(DEBUG_CONFIG):
        return show_config
    return OWN.get(call.path)
