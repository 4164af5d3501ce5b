"""One provider request from its body to its last byte.

Source: 03-proxy-and-recovery.md 2.1 (steps 5 to 22), 2.9, 2.10, 4.4, 4.5.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from dataplane.adapters.beside.keepalive import KeepAlive
from dataplane.adapters.beside.kept import Warm
from dataplane.adapters.beside.observing import Job, Observer
from dataplane.adapters.carrying import chains, recovering
from dataplane.adapters.carrying.client_answer import ClientAnswer
from dataplane.adapters.carrying.leaving import while_there
from dataplane.adapters.figures import logs
from dataplane.adapters.http import Call, Decoder, RefusedError
from dataplane.adapters.outward.upstream import Response, UpstreamClient, UpstreamError
from dataplane.adapters.parts import Parts
from dataplane.adapters.stores.originals import Cached
from dataplane.adapters.ticket import Ticket
from dataplane.core import bypass
from dataplane.core.asked import Asked
from dataplane.core.exchange import Exchange
from dataplane.core.expand import endings
from dataplane.core.expand.fetched import open_fetched
from dataplane.core.expand.opening import open_relay
from dataplane.core.expand.plain import PlainRelay
from dataplane.core.expand.relay import Answer, Deliver, Outcome, Relay
from dataplane.core.keepalive.gates import Ended
from dataplane.core.outgoing import Outgoing
from dataplane.core.prices.money import Sale
from dataplane.core.session.lineage import Lineages
from dataplane.core.session.resend import REFUSALS_OF_A_BODY, Resends
from dataplane.core.wire import stored_state
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import Reading, RoundUsage, total

log = logging.getLogger("headrace.proxy")
CLIENT_GONE = 499
GUARDED_AT_ONCE = 64 << 10  # bytes of a body; more are looked through beside the event loop
_UNKNOWN_USAGE = (Reading.UNPARSED, Reading.UNREADABLE)


class Proxy:
    """Carries requests to upstreams and their answers back."""

    def __init__(
        self, parts: Parts, upstream: UpstreamClient, observer: Observer, keepalive: KeepAlive
    ) -> None:
        self.settings = parts.settings
        self.upstream = upstream
        self.observer = observer
        self.keepalive = keepalive
        self.store = parts.store
        self.snapshots = parts.snapshots
        self.resends = Resends()
        self.lineages = Lineages()

    async def serve(self, ticket: Ticket) -> None:
        """Answer one request; the record says afterwards what happened."""
        call = ticket.call
        limits = self.settings.body_limits(compaction=ticket.route.may_be_large)
        body = await call.read_body(limits, ticket.room)
        if ticket.guards_state:
            await _refuse_stored_state(call, body)
        carrying = _Carrying(self, ticket, body)
        try:
            await while_there(call, carrying.run)
        finally:
            carrying.conclude()
        if carrying.refused is not None:
            raise carrying.refused


async def _refuse_stored_state(call: Call, body: bytes) -> None:
    """Apart from the loop where that takes long: a body may be all of a long conversation."""
    if call.is_encoded:
        raise RefusedError("server_state_forbidden", detail="The body is compressed.")
    if len(body) <= GUARDED_AT_ONCE:
        named = stored_state.named_in(body)
    else:
        named = await asyncio.to_thread(stored_state.named_in, body)
    if named:
        raise RefusedError("server_state_forbidden", detail=f"The request names {named}.")


class _Carrying:
    """One request on its way; `refused` is set when the answer is an error of ours."""

    def __init__(self, proxy: Proxy, ticket: Ticket, body: bytes) -> None:
        self._settings = proxy.settings
        self._upstream = proxy.upstream
        self._observer = proxy.observer
        self._keepalive = proxy.keepalive
        self._store = proxy.store
        self._price_card = proxy.snapshots.price_card
        self._resends = proxy.resends
        self._lineages = proxy.lineages
        self._ticket = ticket
        self._body = body
        self._relay: Relay | None = None
        self._passed_on: PlainRelay | None = None
        self._answers = contextlib.ExitStack()
        self._exchange: Exchange | None = None
        self._sent_at = 0.0
        self._is_kept_alive = ticket.tenant.plan.cache.keepalive
        self._warm: Warm | None = None
        self._links = False
        self._shown_as = ""
        self._succeeded = False
        self.refused: RefusedError | None = None

    async def run(self) -> None:
        try:
            with self._answers:
                outgoing = await self._prepare()
                await self._forward(outgoing)
        except UpstreamError as error:
            log.warning(
                "cg.upstream_failed tenant=%s route=%s upstream=%s %s",
                self._ticket.record.tenant or "local",
                self._ticket.route.name,
                self._ticket.upstream.name,
                error,
            )
            self.refused = RefusedError(error.name, tenant=self._ticket.record.tenant)

    # ---- towards the provider -------------------------------------------------------------

    async def _prepare(self) -> Outgoing:
        dialect = self._ticket.route.dialect
        if dialect is None:
            self._shown_as = await chains.find_fetched(self._ticket)
            return Outgoing(await chains.renamed(self._ticket, self._body))
        call, record = self._ticket.call, self._ticket.record
        asked = Asked(
            dialect,
            record.tenant,
            self._ticket.principal,
            record.at,
            session_header=call.session_name,
            agent_header=call.header(b"x-claude-code-agent-id"),
            wants_bypass=call.header(b"x-context-guru-bypass").lower() in {"true", "1"},
            is_encoded=call.is_encoded,
            force_model=self._settings.force_model,
            keys=self._settings.session_keys,
            shapes_parts=self._settings.responses_partial,
            restraint=partial(self._resends.restraint, record.tenant, at=record.at),
            thread_of=partial(self._lineages.thread, tenant=record.tenant, at=record.at),
            captures=record.captured,
            window_of=partial(self._price_card.window, address=record.address),
        )
        self._exchange = Exchange(
            self._ticket.plan, asked, persists=self._ticket.persists, clock=time.perf_counter
        )
        started = time.perf_counter()
        try:
            outgoing = await self._ticket.driver.run(
                self._exchange.prepare(self._body), self._ticket.perform, size=len(self._body)
            )
        except Exception as error:  # noqa: BLE001  logged below
            # Fail open: the body that came in can always be sent.
            logs.fault(log, "cg.rewrite_failed tenant=%s", error, record.tenant or "local")
            record.rewrite_failed = True
            outgoing = self._replayed(self._exchange)
        record.added_ms = (time.perf_counter() - started) * 1000
        self._note(outgoing)
        return outgoing

    def _replayed(self, exchange: Exchange) -> Outgoing:
        """What can be sent of a body that could not be shaped, however that failed."""
        try:
            return exchange.replayed()
        except Exception as error:  # noqa: BLE001  logged below
            tenant = self._ticket.record.tenant or "local"
            logs.fault(log, "cg.replay_failed tenant=%s", error, tenant)
            return Outgoing(exchange.pristine, bypass.REWRITE_FAILED.name)

    def _note(self, outgoing: Outgoing) -> None:
        record = self._ticket.record
        record.take(outgoing)
        record.recoveries = self._exchange.recoveries if self._exchange else record.recoveries
        if self._is_kept_alive and self._exchange is not None and self._exchange.turn is not None:
            self._warm = self._keepalive.claim(self._exchange.turn.scope, record.at)

    async def _send(self, body: bytes) -> Response:
        """An answer of the provider, of whichever round; it is closed with the request."""
        ticket = self._ticket
        headers = ticket.upstream_headers(forwards_clock=self._settings.test_clock)
        has_body = bool(body) or ticket.call.method in {"POST", "PUT", "PATCH"}
        ticket.record.rounds += 1
        response = await self._upstream.send(
            ticket.call.method, ticket.url, headers, body if has_body else None, ticket.way
        )
        self._answers.callback(response.close)
        return response

    # ---- towards the client ---------------------------------------------------------------

    async def _forward(self, outgoing: Outgoing) -> None:
        self._sent_at = time.perf_counter()
        response = await self._send(outgoing.body)
        if response.status in REFUSALS_OF_A_BODY:
            response = await self._retried(response, outgoing)
        self._links = outgoing.links
        self._ticket.record.upstream_ms = (time.perf_counter() - self._sent_at) * 1000
        if outgoing.bypassed == bypass.OBSERVE.name:
            self._observe(outgoing)
        try:
            self._relay = self._open_relay(response, outgoing)
            answer = ClientAnswer(self._ticket, response, self._relay)
            verdict = await self._round(response, answer)
            while isinstance(verdict, Answer):
                answer, verdict = await self._continue(verdict, answer)
            self._ticket.record.end_as(verdict.ending)
            await self._link(self._relay)
            await answer.finish(verdict)
            whole = verdict.outcome is not Outcome.NEXT_FAILED and answer.response.is_success
            self._succeeded = whole and self._ticket.record.outcome == "ok"
        finally:
            if self._relay is not None and self._relay.first_bytes_sent:
                self._ticket.record.expand_after_stream = self._relay.expand_after_stream

    def _observe(self, outgoing: Outgoing) -> None:
        """Have it measured what mode sync would have made of this request."""
        exchange = self._exchange
        assert exchange is not None  # noqa: S101  only an exchange bypasses by this name
        lineage = outgoing.identity.thread
        asked = exchange.asked._replace(thread_of=lambda _, __: lineage, captures=False)
        plan = self._ticket.plan.enforcing
        self._observer.offer(Job(asked, plan, outgoing.body, exchange.previous))

    async def _retried(self, refusal: Response, outgoing: Outgoing) -> Response:
        """The answer to the body that came in, where that helps; else the refusal."""
        exchange, record = self._exchange, self._ticket.record
        if exchange is None or outgoing.body == exchange.pristine:
            return refusal
        session = exchange.session_key
        may = self._resends.may_resend(record.tenant, session, record.at)
        if not (may and self._ticket.tenant.body.policy.resend_pristine_on_400):
            return refusal
        second = await self._send_again(exchange.pristine)
        recovered = second is not None and second.is_success
        refused = exchange.novelties if recovered else None
        self._resends.note(record.tenant, session, record.at, refused=refused)
        record.pristine_resend = "recovered" if recovered else "same"
        if second is None or not recovered:
            return refusal
        exchange.resent(outgoing)
        record.take(outgoing)
        return second

    async def _send_again(self, body: bytes) -> Response | None:
        try:
            return await self._send(body)
        except UpstreamError as error:
            log.warning("cg.resend_failed route=%s %s", self._ticket.route.name, error)
            return None

    def _open_relay(self, response: Response, outgoing: Outgoing) -> Relay:
        dialect = self._ticket.route.dialect
        known = Decoder(response.content_encoding).known
        if dialect is None and self._ticket.route.is_fetched and known:
            return open_fetched(response.status, response.content_type, shown_as=self._shown_as)
        if dialect is None or not known:
            return PlainRelay(dialect or Dialect.ANTHROPIC)
        return open_relay(
            dialect=dialect,
            status=response.status,
            content_type=response.content_type,
            interceptable=outgoing.intercepts,
            terms=outgoing.terms,
        )

    async def _round(self, response: Response, answer: ClientAnswer) -> Deliver | Answer:
        """Relay one upstream body; the verdict on it."""
        relay, complete = answer.relay, True
        decoder = Decoder(response.content_encoding if answer.decodes else "")
        try:
            async for chunk in response.chunks():
                out = relay.feed(decoder.feed(chunk))
                await self._link(relay)
                await answer.write(out, is_last=response.has_ended)
        except (UpstreamError, ValueError) as error:
            complete = False
            log.warning("cg.upstream_cut route=%s %s", self._ticket.route.name, error)
        try:
            return relay.end_round(complete=complete)
        except Exception:
            await answer.release()  # a fault of ours in reading it takes no answer from the client
            raise

    async def _link(self, relay: Relay) -> None:
        if self._links and relay.ended_as and self._exchange is not None:
            self._links = False
            await chains.link(self._exchange, relay, self._ticket)

    async def _continue(
        self, verdict: Answer, answer: ClientAnswer
    ) -> tuple[ClientAnswer, Deliver | Answer]:
        """Answer the model's recovery calls and relay what it says with the originals in hand.

        Where that fails: the failure, if the client has nothing yet and may retry; else the round.
        """
        relay, exchange, perform = answer.relay, self._exchange, self._ticket.perform
        assert exchange is not None  # noqa: S101  only shaped requests are intercepted
        try:
            response = await self._send(
                await recovering.next_body(exchange, verdict, relay, perform)
            )
        except UpstreamError as error:
            log.warning("cg.continuation_failed route=%s %s", self._ticket.route.name, error)
            if not answer.started:
                self._ticket.record.end_as(endings.REFUSAL_PASSED_ON)
                raise
            return answer, relay.round_failed()
        except Exception as error:  # noqa: BLE001  logged below
            logs.fault(log, "cg.continuation_failed route=%s", error, self._ticket.route.name)
            return answer, relay.round_failed()
        if not relay.accepts(response.status, response.content_type):
            return await self._refused(response, answer)
        relay.next_round()
        answer.response = response
        heard: Deliver | Answer | None = None
        try:
            heard = await self._round(response, answer)
        finally:
            await recovering.book(exchange, heard, perform)
        return answer, heard

    async def _refused(
        self, refusal: Response, answer: ClientAnswer
    ) -> tuple[ClientAnswer, Deliver | Answer]:
        """The provider did not take a continuation, or answered in another form."""
        route, status = self._ticket.route.name, refusal.status
        log.warning("cg.continuation_refused route=%s status=%d", route, status)
        if endings.is_for_a_retry(refusal.status) and not answer.started:
            self._passed_on = PlainRelay(answer.relay.dialect, is_error=True)
            passed = ClientAnswer(self._ticket, refusal, self._passed_on)
            verdict = await self._round(refusal, passed)
            assert isinstance(verdict, Deliver)  # noqa: S101  a plain relay only delivers
            return passed, replace(verdict, ending=endings.REFUSAL_PASSED_ON)
        handed = answer.relay.round_failed()
        return answer, replace(handed, ending=endings.of_refusal(refusal.status))

    def conclude(self) -> None:
        """What the response cost, whatever became of it."""
        record, relay = self._ticket.record, self._relay
        record.status = self._ticket.call.status
        if self.refused is not None and record.ending:
            record.status, record.outcome = self.refused.refusal.status, "error"
        if relay is None or self._ticket.route.dialect is None:
            return
        record.error_type = (self._passed_on or relay).error_type or ""
        sent = record.report.tokens_after if record.report is not None else 0
        reported = relay.usage
        rounds = [each.with_input(sent) for each in reported] if sent else reported
        readings = [each.reading for each in rounds]
        for reading in readings:
            if reading in _UNKNOWN_USAGE:
                record.usage_misses[reading.value] += 1
        if Reading.READ in readings and not record.usage_misses:
            record.usage = total(rounds)
            record.usage_estimated = any(each.estimated for each in rounds)
        record.model = relay.model or record.model
        record.prompt = max([each.usage.prompt for each in rounds])
        record.buffered = relay.buffered
        self._note_cached(relay.dialect, rounds)
        if self._is_kept_alive and self._exchange is not None:
            self._keep_alive(self._exchange, relay)

    def _note_cached(self, dialect: Dialect, rounds: Sequence[RoundUsage]) -> None:
        """Remember that the provider caches this thread, where it does so only when asked."""
        turn = self._exchange.turn if self._exchange else None
        if turn is None or dialect.family == "openai":
            return
        if any(each.usage.is_cached for each in rounds):
            self._store.note_cached(Cached(turn.scope, turn.at))

    def _keep_alive(self, exchange: Exchange, relay: Relay) -> None:
        """Have the thread's prefix kept alive from here on, if every gate is open."""
        record, last = self._ticket.record, relay.usage[-1] if relay.usage else None
        ended = Ended(
            relay.dialect,
            self._succeeded,
            exchange.turn,
            exchange.previous,
            last.usage if last is not None and last.reading is Reading.READ else None,
            self._price_card.rates(record.model, Sale(record.address, record.at, record.prompt)),
            exchange.sent,
        )
        self._keepalive.ended(self._ticket, ended, self._warm)
