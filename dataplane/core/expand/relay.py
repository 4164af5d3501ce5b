"""What stands between an upstream response and the client: bytes in, bytes out.

The proxy feeds a relay every chunk of a round and sends what it returns. At the end of the round
the verdict says whether the client has its response or the model first gets originals:

    verdict = relay.end_round(complete=True)
    while isinstance(verdict, Answer):
        messages = relay.continuation(results)      # append them to the request and send it
        relay.next_round()                          # ... when relay.accepts(status, content_type)
        verdict = ...                               # else relay.round_failed()

Source: 03-proxy-and-recovery.md 2.9, 4.4, 4.5.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from dataplane.core.expand.facts import Facts
from dataplane.core.port.signals import Event
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import RoundUsage

EVENT_STREAM = "text/event-stream"
JSON = "application/json"
_OK = 200


class Outcome(enum.Enum):
    """How a client response ended, as far as the relay can tell."""

    OK = "ok"
    ERROR = "error"  # the upstream reported an error inside its response
    BAIL = "bail"  # a call of ours that only the client could answer: another tool, no tool use
    CAP = "cap"  # one more continuation than EXPAND_ROUNDS would be needed
    OVERSIZE = "oversize"  # more than may be held back; the rest passed through
    NEXT_FAILED = "next_failed"  # a continuation gave nothing; the withheld bytes were delivered
    NEXT_CUT = "next_cut"  # a continuation broke off after some of its content had been sent
    TRUNCATED = "truncated"  # the response broke off and the client can see it


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an injected tool. marker_id: as the model wrote it, None if it wrote none."""

    call_id: str
    name: str
    marker_id: str | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Deliver:
    """The client response is finished once these bytes are sent.

    ending: what became of calls of ours in it, None where there were none.
    """

    rest: bytes
    outcome: Outcome
    ending: Event | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Every call of the round is ours: ask the upstream again with a result for each, in order.

    is_last: what the upstream says then is the last that the client may get. container: the id,
    as a JSON literal, that the next request has to name; empty for none.
    """

    calls: tuple[Call, ...]
    is_last: bool = False
    container: bytes = b""


Verdict = Deliver | Answer


class Relay(abc.ABC):
    """One client response, over all upstream rounds that it takes.

    blocks_sent: content blocks (Anthropic) or chunks with content (OpenAI) that the client has.
    buffered: the response opened with a call of ours, so the client had to wait for the next
    round. expand_after_stream: the client received a call of ours in a stream. shown_as, ended_as:
    the id of a response for the client, and that of the round that ended it, once that is about to
    be sent. handed_over: calls of ours that the client has to answer.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.blocks_sent = 0
        self.first_bytes_sent = False
        self.buffered = False
        self.expand_after_stream = False
        self.shown_as = self.ended_as = ""
        self.handed_over: tuple[Call, ...] = ()
        self._facts = Facts(dialect)
        self._earlier: list[RoundUsage] = []

    @abc.abstractmethod
    def feed(self, chunk: bytes) -> bytes:
        """Take one chunk of the response body; returns what the client gets now."""

    @abc.abstractmethod
    def end_round(self, *, complete: bool) -> Verdict:
        """The body has ended. complete: it was not cut off by a failure or a time-out."""

    def continuation(self, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        """After Answer: raw JSON messages to append to the request, given results in call order."""
        raise NotImplementedError("this relay never answers")

    def next_round(self) -> None:
        """The continuation was accepted; its chunks follow."""
        raise NotImplementedError("this relay never answers")

    def round_failed(self) -> Deliver:
        """The continuation was refused, or came in another form than the response so far."""
        raise NotImplementedError("this relay never answers")

    def accepts(self, status: int, content_type: str) -> bool:
        """Whether a continuation's response can follow the response so far."""
        return False

    @property
    def usage(self) -> list[RoundUsage]:
        """One entry for each round, the running one included."""
        return [*self._earlier, self._facts.usage]

    @property
    def stop_reason(self) -> str | None:
        """Of the last round; None when it gave none."""
        return self._facts.stop_reason

    @property
    def model(self) -> str:
        """The model that answered, as the upstream names it; "" when it did not say."""
        return self._facts.model

    @property
    def error_type(self) -> str | None:
        """The type of the error that the upstream reported in its body or stream."""
        return self._facts.error_type

    def _sent(self, outgoing: bytes) -> bytes:
        self.first_bytes_sent = self.first_bytes_sent or bool(outgoing)
        return outgoing

    def _deliver(self, rest: bytes, outcome: Outcome, ending: Event | None = None) -> Deliver:
        return Deliver(self._sent(rest), outcome, ending)

    def _next_facts(self) -> None:
        self._earlier.append(self._facts.usage)
        model = self._facts.model
        self._facts = Facts(self.dialect)
        self._facts.model = model


def is_answer(status: int, content_type: str, wanted: str) -> bool:
    """True for a 200 of this media type."""
    return status == _OK and media_type(content_type) == wanted


def media_type(content_type: str) -> str:
    """The lower-case type of a content-type header, its parameters left out."""
    return content_type.partition(";")[0].strip().lower()
