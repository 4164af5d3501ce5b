"""One keep-alive ping: the gates that are asked when it is due, the sending, and its row.

Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

import asyncio
import logging
import time

from dataplane.adapters.beside.kept import Header, Kept, read
from dataplane.adapters.beside.masked import overwrite
from dataplane.adapters.http import Decoder, RefusedError
from dataplane.adapters.outward.upstream import Response, UpstreamClient, UpstreamError, Way
from dataplane.adapters.parts import Parts
from dataplane.adapters.request_ids import new_request_id
from dataplane.adapters.stores.originals import Cached, Touch
from dataplane.adapters.waiting import within
from dataplane.core.door.headers import CLOCK_HEADER
from dataplane.core.expand.plain import PlainRelay
from dataplane.core.keepalive import gates
from dataplane.core.keepalive.ping import Outcome, outcome_of
from dataplane.core.port.signals import Gate
from dataplane.core.record import Record
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import Reading, total

log = logging.getLogger("headrace.keepalive")
TIMEOUT_S = 60.0
ANSWER_MAX_BYTES = 1 << 20
NO_ANSWER, SUPERSEDED = 502, 499
_FIRST_ERROR = 400
_NAMES = {Outcome.READ: "read", Outcome.WROTE: "wrote"}


class Pinger:
    """Sends pings of threads that are kept."""

    def __init__(self, parts: Parts, upstream: UpstreamClient) -> None:
        self._parts = parts
        self._upstream = upstream

    async def ping(self, kept: Kept, at: float) -> Outcome | Gate:
        """How a ping that starts now (at, seconds) ended, or the gate that turned it away."""
        tenant = self._parts.snapshots.tenants.get(kept.tenant)
        if tenant is None:
            return gates.TENANT_GONE
        if not kept.idle.is_alive(at):
            return gates.CACHE_EXPIRED
        try:
            credential = self._credential(kept)
        except RefusedError:
            return gates.CREDENTIAL_MISSING
        with self._parts.door.limits.spare(kept.tenant, tenant.body.limits, at) as has_slack:
            if not has_slack or self._parts.door.inflight >= self._parts.settings.node_inflight_max:
                return gates.NO_SLACK
            touch = Touch(kept.turn.scope, at, since=kept.tracked_at)
            if not await self._parts.store.touch_turn(touch):
                return gates.NEWER_REQUEST
            kept.tracked_at = at
            outcome = await self._sent(kept, credential, at)
        if outcome is Outcome.READ:
            self._parts.store.note_cached(Cached(kept.turn.scope, at))
        return outcome

    def _credential(self, kept: Kept) -> list[Header]:
        """What the ping signs in with: a held key as it is now, else the caller's own."""
        if len(kept.secret):
            return read(kept.secret.reveal())
        plan = self._parts.credentials.plan(kept.upstream, ())
        return [plan.adds] if plan.adds is not None else []

    async def _sent(self, kept: Kept, credential: list[Header], at: float) -> Outcome:
        record, started = kept.record(new_request_id(), at), time.perf_counter()
        outcome, record.status = Outcome.FAILED, NO_ANSWER
        try:
            with within(TIMEOUT_S):
                outcome = await self._answered(kept, credential, record)
        except asyncio.CancelledError:
            record.status = SUPERSEDED
            raise
        except (UpstreamError, TimeoutError, ValueError) as error:
            log.warning("cg.keepalive_failed tenant=%s %s", kept.tenant, type(error).__name__)
        finally:
            record.outcome = "ok" if outcome is Outcome.READ else "error"
            record.ping = _NAMES.get(outcome, "failed")
            record.serve_ms = record.upstream_ms = (time.perf_counter() - started) * 1000
            self._parts.books.account(record)
        return outcome

    async def _answered(self, kept: Kept, credential: list[Header], record: Record) -> Outcome:
        headers = [*kept.headers, *credential]
        if self._parts.settings.test_clock:
            headers.append((CLOCK_HEADER, f"{record.at}".encode()))
        way = Way(kept.upstream.proxy_url, TIMEOUT_S)
        body = kept.body.reveal()
        try:
            response = await self._upstream.send("POST", kept.url, headers, body, way)
            try:
                await _read(response, record)
            finally:
                response.close()
        finally:
            overwrite(body)
        return outcome_of(record.status, record.usage)


async def _read(response: Response, record: Record) -> None:
    """What the answer says of itself, put down in the record."""
    record.status = response.status
    relay = PlainRelay(Dialect.ANTHROPIC, is_error=response.status >= _FIRST_ERROR)
    decoder, size = Decoder(response.content_encoding), 0
    async for chunk in response.chunks():
        size += len(chunk)
        if size > ANSWER_MAX_BYTES:
            raise ValueError("more than an answer of one token can be")
        relay.feed(decoder.feed(chunk))
    relay.end_round(complete=True)
    record.model = relay.model or record.model
    record.error_type = relay.error_type or ""
    if any(each.reading is Reading.READ for each in relay.usage):
        record.usage = total(relay.usage)
