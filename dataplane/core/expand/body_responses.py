"""Responses that are one JSON body: what the client gets is what its stream would have ended with.

Source: 03-proxy-and-recovery.md 2.8, 4.4; 00-start-here.md 2 (row 26).
"""

from __future__ import annotations

from collections.abc import Sequence

from dataplane.core.expand import endings, reply_responses
from dataplane.core.expand.body import BodyRelay
from dataplane.core.expand.relay import Deliver, Outcome, ToolResult, Verdict
from dataplane.core.expand.responses_events import identity_of, response_edits
from dataplane.core.expand.rounds import NOT_READ_HERE, Reply, answered, handed_over_as
from dataplane.core.expand.terms import PLAIN, Terms
from dataplane.core.tools.tool import SIGN
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import UnparseableError
from dataplane.core.wire.spans import whole as span_of
from dataplane.core.wire.splice import splice

_NO_CALLS = Reply(())


class ResponsesBody(BodyRelay):
    def __init__(self, terms: Terms = PLAIN) -> None:
        super().__init__(Dialect.OPENAI_RESPONSES)
        self._terms = terms
        self._given: list[bytes] = []
        self._given_before: list[bytes] = []

    def continuation(self, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        reply = self._reply
        if reply.needs_store and not self._terms.stores:
            reply = reply_responses.without_what_nobody_kept(reply)
        return reply_responses.continuation(reply, results)

    def round_failed(self) -> Deliver:
        """The round before goes to the client whole."""
        self.handed_over = self._reply.calls
        body = self._shown(self._earlier_body, self._given_before, whole=True)
        return self._deliver(body, Outcome.NEXT_FAILED, endings.CONTINUATION_FAILED)

    def _decided(self, body: bytes) -> Verdict:
        self._reply = reply_responses.from_body(body) if SIGN in body else _NO_CALLS
        handed = handed_over_as(
            self._reply, stop_reason=self.stop_reason, continuations=self._continuations
        )
        if handed is None and not self._terms.answers:
            handed = NOT_READ_HERE
        if handed is not None:
            self.handed_over = self._reply.calls if handed.whole else ()
            shown = self._shown(body, self._given, whole=handed.whole)
            return self._deliver(shown, handed.outcome, handed.ending)
        self._earlier_body, self._given_before = body, list(self._given)
        self._given += reply_responses.without_ours(reply_responses.items_of(body))
        return answered(self._reply, continuations=self._continuations)

    def _shown(self, body: bytes, given: Sequence[bytes], *, whole: bool) -> bytes:
        """The body with the items of all rounds. whole: the calls of ours are among them."""
        self.shown_as = self.ended_as = identity_of(body)

        def output(listed: list[bytes]) -> list[bytes]:
            return [*given, *(listed if whole else reply_responses.without_ours(listed))]

        try:
            edits = response_edits(body, span_of(body), output=output, terms=self._terms)
        except UnparseableError:
            return body
        return splice(body, edits)
