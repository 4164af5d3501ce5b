"""What a model said in a stream that broke off before its usage came.

Only the beginning of the text is kept, and no token is counted unless somebody asks, which is where
an answer was cut. Source: 03-proxy-and-recovery.md 4.7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from dataplane.core.text import tokens
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.sse import SseEvent

SAMPLE_CHARS = 64 << 10


class _Delta(msgspec.Struct):
    text: str = ""
    partial_json: str = ""
    thinking: str = ""


class _AnthropicEvent(msgspec.Struct):
    delta: _Delta


class _ResponsesEvent(msgspec.Struct):
    delta: str


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    function: _Function | None = None


class _ChatDelta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _ChatDelta | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None


_anthropic = msgspec.json.Decoder(_AnthropicEvent)
_responses = msgspec.json.Decoder(_ResponsesEvent)
_chat = msgspec.json.Decoder(_Chunk)
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


class Delivered:
    """The text and arguments of one answer, as far as they came."""

    __slots__ = ("_dialect", "_kept", "_kept_chars", "_total_chars")

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._kept: list[str] = []
        self._kept_chars = 0
        self._total_chars = 0

    def take(self, event: SseEvent) -> None:
        """Note what an event of the stream says; nothing for one that says nothing."""
        if b"delta" not in event.data:
            return
        try:
            said = "".join(self._said(event.data))
        except _UNREADABLE:
            return
        self._total_chars += len(said)
        if self._kept_chars < SAMPLE_CHARS:
            self._kept.append(said)
            self._kept_chars += len(said)

    @property
    def tokens(self) -> int:
        """Of all of it; beyond the sample as many for each character as in it."""
        if not self._kept_chars:
            return 0
        counted = tokens.count("".join(self._kept)).tokens
        return math.ceil(counted * self._total_chars / self._kept_chars)

    def _said(self, written: bytes) -> Iterator[str]:
        if self._dialect is Dialect.ANTHROPIC:
            delta = _anthropic.decode(written).delta
            yield delta.text or delta.partial_json or delta.thinking
        elif self._dialect is Dialect.OPENAI_RESPONSES:
            yield _responses.decode(written).delta
        else:
            for choice in _chat.decode(written).choices or ():
                yield from _of_choice(choice.delta or _ChatDelta())


def _of_choice(delta: _ChatDelta) -> Iterator[str]:
    yield from filter(None, (delta.content, delta.reasoning_content, delta.refusal))
    for call in delta.tool_calls or ():
        if call.function is not None:
            yield from filter(None, (call.function.name, call.function.arguments))
