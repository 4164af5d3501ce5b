"""POST /compact: the pipeline for a caller who sends the result itself.

Whatever goes wrong behind the door, the caller gets its own body back.
Source: 03-proxy-and-recovery.md 1.2, 2.6.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from functools import partial
from urllib.parse import parse_qs

from msgspec.structs import replace

from dataplane.adapters.door.admission import Admission, wish_of
from dataplane.adapters.drive import performer
from dataplane.adapters.figures import logs
from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.parts import Parts
from dataplane.core import bypass
from dataplane.core.asked import Asked
from dataplane.core.exchange import Exchange
from dataplane.core.outgoing import Outgoing
from dataplane.core.record import Record
from dataplane.core.serving.overrides import Ignored
from dataplane.core.serving.plan import Plan
from dataplane.core.wire.message import Dialect

log = logging.getLogger("headrace.compact")
_DIALECTS = {
    "openai": Dialect.OPENAI_CHAT,
    "anthropic": Dialect.ANTHROPIC,
    "responses": Dialect.OPENAI_RESPONSES,
}
_CACHE_MODES = ("auto", "on", "off")


async def compact(parts: Parts, call: Call) -> None:
    """Answer with the body after the pipeline; nothing is declared in it or sent upstream."""
    if call.method != "POST":
        raise RefusedError("method_not_allowed")
    with parts.door.admitted(call) as admission:
        body = await call.read_body(parts.settings.body_limits(compaction=True), admission.room)
        options = {name: values[-1] for name, values in parse_qs(call.query).items()}
        dialect = _DIALECTS.get(options.get("provider", "openai"))
        record = admission.record("compact", dialect.family if dialect else "")
        plan, ignored = _plan(parts, admission, options)
        outgoing = Outgoing(body)
        if dialect is not None:
            exchange = _exchange(parts, admission, plan, dialect)
            outgoing = await _compacted(parts, exchange, record, body)
        await _respond(call, outgoing, ignored)
        record.status = call.status
        parts.books.account(record)


def _plan(
    parts: Parts, admission: Admission, options: dict[str, str]
) -> tuple[Plan, Ignored | None]:
    wish = wish_of(admission.call, preset=options.get("preset", ""))
    plan, ignored = parts.snapshots.plan_for(
        admission.tenant, wish, allowed=parts.settings.is_single_tenant
    )
    mode = options.get("cache", "")
    if mode in _CACHE_MODES:
        plan = dataclasses.replace(plan, host=replace(plan.host, cache_mode=mode))
    return plan, ignored


def _exchange(parts: Parts, admission: Admission, plan: Plan, dialect: Dialect) -> Exchange:
    call, tenant = admission.call, admission.tenant.body.tenant
    asked = Asked(
        dialect,
        tenant,
        admission.principal.name,
        admission.at,
        session_header=call.session_name,
        wants_bypass=call.header(b"x-context-guru-bypass").lower() == "true",
        is_encoded=call.is_encoded,
        stays_here=True,
        captures=admission.tenant.body.policy.content_capture,
        keys=parts.settings.session_keys,
        shapes_parts=parts.settings.responses_partial,
        window_of=parts.snapshots.price_card.window,
    )
    persists = parts.store.backend_for(tenant).persists
    return Exchange(plan, asked, persists=persists, clock=time.perf_counter)


async def _compacted(parts: Parts, exchange: Exchange, record: Record, body: bytes) -> Outgoing:
    perform = performer(parts.store, partial(parts.telemetry.committed, tenant=record.tenant))
    started = time.perf_counter()
    try:
        outgoing = await parts.driver.run(exchange.prepare(body), perform, size=len(body))
    except Exception as error:  # noqa: BLE001  logged below
        logs.fault(log, "cg.rewrite_failed tenant=%s", error, record.tenant or "local")
        record.rewrite_failed = True
        outgoing = Outgoing(body, bypass.REWRITE_FAILED.name)
    record.added_ms = record.serve_ms = (time.perf_counter() - started) * 1000
    record.take(outgoing)
    return outgoing


async def _respond(call: Call, outgoing: Outgoing, ignored: Ignored | None) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"x-context-guru-request-id", call.request_id.encode()),
        (b"x-context-guru-session", outgoing.identity.session.encode()),
    ]
    if outgoing.report is not None:
        headers += outgoing.report.headers
    if ignored is not None:
        headers.append(ignored.header)
    if outgoing.bypassed == bypass.ENCODED_REQUEST.name:
        headers.append((b"content-encoding", call.header(b"content-encoding").encode("latin-1")))
    await call.respond(200, outgoing.body, headers)
