"""What a response says about itself: model, stop reason, error and usage.

Reading never fails: what cannot be read is left out, and the usage says so.
Source: 03-proxy-and-recovery.md 2.9.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw

from dataplane.core.expand.delivered import Delivered
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.sse import SseEvent
from dataplane.core.wire.usage import RoundUsage, UsageMeter

WINDOW_BYTES = 64 << 10
DONE = b"[DONE]"

_NO_VALUE = Raw(b"")
# Anything else would be a provider's text in places that expect a name.
_ERROR_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_USAGE = re.compile(rb'"usage"\s*:\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})')
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]+)"')
_STOP = re.compile(rb'"(?:stop_reason|finish_reason)"\s*:\s*"([a-z_]+)"')


class _Typed(msgspec.Struct):
    type: str | None = None


class _AnthropicMessage(msgspec.Struct):
    model: str = ""
    stop_reason: str | None = None
    usage: Raw = _NO_VALUE


class _AnthropicEvent(msgspec.Struct):
    """message_start, message_delta or error: each fills its own members."""

    message: _AnthropicMessage | None = None
    delta: _AnthropicMessage | None = None
    usage: Raw = _NO_VALUE
    error: _Typed | None = None


class _Body(msgspec.Struct):
    model: str | None = None
    status: str | None = None
    stop_reason: str | None = None
    choices: list[_Finished] | None = None
    usage: Raw = _NO_VALUE
    error: _Typed | None = None


class _ResponseEvent(msgspec.Struct):
    """An event of a Responses stream that carries the response, or an error."""

    response: _Body | None = None


class _Finished(msgspec.Struct):
    finish_reason: str | None = None


class ChatChoice(msgspec.Struct):
    index: int = 0
    delta: dict[str, Raw] | None = None
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct):
    """One chunk of a streamed chat completion, as far as anybody looks at it."""

    model: str | None = None
    choices: list[ChatChoice] | None = None
    usage: Raw = _NO_VALUE
    error: _Typed | None = None


_anthropic_event = msgspec.json.Decoder(_AnthropicEvent)
_body = msgspec.json.Decoder(_Body)
_response_event = msgspec.json.Decoder(_ResponseEvent)
_chunk = msgspec.json.Decoder(ChatChunk)
_typed = msgspec.json.Decoder(_Typed)
RESPONSE_ENDS = frozenset({b"response.completed", b"response.incomplete", b"response.failed"})
_READ_OF_RESPONSES = RESPONSE_ENDS | {b"response.created"}
_READ_OF_ANTHROPIC = frozenset({b"message_start", b"message_delta", b"error"})
_UNFINISHED = (None, "in_progress", "queued")
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


def chunk_of(event: SseEvent) -> ChatChunk | None:
    """The chat chunk of an event; None for comments, [DONE] and what is not a chunk."""
    written = event.data
    if not written or written == DONE:
        return None
    try:
        return _chunk.decode(written)
    except _UNREADABLE:
        return None


def kind_of(event: SseEvent) -> bytes:
    """The type of an Anthropic event, also where the upstream left its `event` line out."""
    if event.name or not event.data:
        return event.name
    try:
        return (_typed.decode(event.data).type or "").encode()
    except _UNREADABLE:
        return b""


class Facts:
    """The facts of one round."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._meter = UsageMeter(dialect.value)
        self._delivered = Delivered(dialect)
        self._in_stream = False
        self.model = ""
        self.stop_reason: str | None = None
        self.error_type: str | None = None

    @property
    def usage(self) -> RoundUsage:
        """As reported; of a stream that has not come to its end the output as it was delivered."""
        found = self._meter.result()
        if not self._in_stream or self.stop_reason not in _UNFINISHED:
            return found
        return found.with_output(self._delivered.tokens)

    def read_event(self, event: SseEvent) -> None:
        """Take one event of a stream of this dialect."""
        self.hear(event)
        if self._dialect is Dialect.ANTHROPIC:
            if kind_of(event) in _READ_OF_ANTHROPIC:
                self._read_anthropic(event.data)
        elif self._dialect is Dialect.OPENAI_RESPONSES:
            self._read_response_event(event)
        elif event.data and event.data != DONE:
            self.read_chunk(chunk_of(event))

    def hear(self, event: SseEvent) -> None:
        """Note what the model says in an event; whoever decodes chat chunks itself calls this."""
        self._in_stream = self._in_stream or bool(event.data)
        self._delivered.take(event)

    def read_chunk(self, chunk: ChatChunk | None) -> None:
        """Take one decoded chat chunk; None for one that could not be decoded."""
        if chunk is None:
            self._meter.unreadable()
            return
        self._meter.offer(chunk.usage)
        self.model = chunk.model or self.model
        for choice in chunk.choices or ():
            self.stop_reason = choice.finish_reason or self.stop_reason
        self._note(chunk.error)

    def read_body(self, body: bytes) -> None:
        """Take a whole JSON body."""
        try:
            seen = _body.decode(body)
        except _UNREADABLE:
            self._meter.unreadable()
            return
        self._take(seen)

    def _take(self, seen: _Body) -> None:
        self._meter.offer(seen.usage)
        self.model = seen.model or self.model
        finished = seen.choices[0].finish_reason if seen.choices else None
        self.stop_reason = seen.stop_reason or finished
        if self._dialect is Dialect.OPENAI_RESPONSES:
            self.stop_reason = seen.status
        self._note(seen.error)

    def read_error(self, body: bytes) -> None:
        """Take the body of an error response, which is not billed."""
        try:
            self._note(_body.decode(body).error)
        except _UNREADABLE:
            self.error_type = "api_error"

    def read_window(self, head: bytes, tail: bytes) -> None:
        """Take the two ends of a JSON body that was not held whole."""
        window = head + b"\n" + tail
        blocks = _USAGE.findall(window)
        if not blocks:
            self._meter.unreadable()
        for block in blocks[-1:]:
            self._meter.offer(block)
        if model := _MODEL.search(window):
            self.model = model[1].decode(errors="replace")
        if reasons := _STOP.findall(window):
            self.stop_reason = reasons[-1].decode()

    def _read_anthropic(self, written: bytes) -> None:
        try:
            seen = _anthropic_event.decode(written)
        except _UNREADABLE:
            self._meter.unreadable()
            return
        if seen.message is not None:
            self.model = seen.message.model or self.model
            self._meter.offer(seen.message.usage)
        if seen.delta is not None:
            self.stop_reason = seen.delta.stop_reason or self.stop_reason
        self._meter.offer(seen.usage)
        self._note(seen.error)

    def _read_response_event(self, event: SseEvent) -> None:
        kind = kind_of(event)
        if kind == b"error":
            self.error_type = "api_error"
        elif kind in _READ_OF_RESPONSES:
            try:
                seen = _response_event.decode(event.data).response
            except _UNREADABLE:
                self._meter.unreadable()
                return
            if seen is not None:
                self._take(seen)

    def _note(self, error: _Typed | None) -> None:
        if error is not None:
            named = _ERROR_NAME.fullmatch(error.type or "")
            self.error_type = named[0] if named else "api_error"
