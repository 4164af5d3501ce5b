"""The response to the client, head and bytes, from however many upstream rounds."""

from __future__ import annotations

import time
from http import HTTPStatus

from dataplane.adapters.http import Decoder
from dataplane.adapters.outward.upstream import Response
from dataplane.adapters.ticket import Ticket
from dataplane.core.door.headers import client_headers
from dataplane.core.expand.plain import PlainRelay, PlainStream
from dataplane.core.expand.relay import EVENT_STREAM, JSON, Deliver, Outcome, Relay


class ClientAnswer:
    """The response to the client: one head, then bytes, from however many upstream rounds.

    started: the client has its head.
    """

    def __init__(self, ticket: Ticket, response: Response, relay: Relay) -> None:
        record = ticket.record
        self.relay = relay
        self.response = response
        self._call = ticket.call
        self._record = record
        self._ignored = ticket.ignored
        self._started_at = time.perf_counter()
        self.started = False
        self._held = b""
        self._inspects = not isinstance(relay, PlainRelay | PlainStream)
        decoder = Decoder(response.content_encoding)
        is_read = ticket.reads_answer and decoder.known
        self.decodes = is_read and not decoder.is_identity
        record.streamed = response.content_type == EVENT_STREAM

    async def write(self, out: bytes, *, is_last: bool) -> None:
        """is_last: the provider's body ends here. Where nothing can follow it, it waits for what
        ends the answer: both go out in one.
        """
        if is_last and not self._inspects:
            self._held = out
        else:
            await self._write(out)

    async def _write(self, out: bytes) -> None:
        if not self.started and (out or not self._waits_for_body):
            await self._start(length=None)
        if out:
            self._clock_first_byte()
            await self._call.write(out)

    async def release(self) -> None:
        """What waits for the end goes out, as there will be none."""
        held, self._held = self._held, b""
        if held:
            await self._write(held)

    def _clock_first_byte(self) -> None:
        if self._record.first_byte_ms is None:
            self._record.first_byte_ms = (time.perf_counter() - self._started_at) * 1000

    @property
    def _waits_for_body(self) -> bool:
        """An inspected JSON body has no head until it is known which round it comes from."""
        return self._inspects and self.response.content_type == JSON

    async def _start(self, *, length: int | None) -> None:
        self.started = True
        # A 304 names the length of a body that does not come, and the server would miss it.
        has_no_body = self.response.status == HTTPStatus.NOT_MODIFIED
        changed = self._inspects or self.decodes or has_no_body
        headers = client_headers(
            self.response.headers, changed=changed, streams=self._record.streamed
        )
        headers.append((b"x-context-guru-request-id", self._call.request_id.encode()))
        if self._record.report is not None:
            headers += self._record.report.headers
        if self._ignored is not None:
            headers.append(self._ignored.header)
        has_length = changed and not (has_no_body or self._record.streamed)
        if length is not None and has_length:
            headers.append((b"content-length", b"%d" % length))
        await self._call.start(self.response.status, headers)

    async def finish(self, verdict: Deliver) -> None:
        """The last bytes. A body that broke off is left open, so that nobody takes it for whole."""
        self._record.outcome = _OUTCOMES.get(verdict.outcome, "ok")
        rest = self._held + verdict.rest
        if self._held:
            self._clock_first_byte()
        cut_body = verdict.outcome is Outcome.TRUNCATED and not self._record.streamed
        if not self.started:
            await self._start(length=None if cut_body else len(rest))
        if cut_body:
            if rest:
                await self._call.write(rest)
            return
        await self._call.write(rest, more=False)


_OUTCOMES = {
    Outcome.ERROR: "error",
    Outcome.TRUNCATED: "truncated",
    Outcome.NEXT_CUT: "truncated",
}
