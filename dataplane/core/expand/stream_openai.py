"""The splice of OpenAI chat streams.

Every chunk names the completion it belongs to, so the chunks of later rounds take the names of the
first. Their tool calls need no new index: a round is continued only if no tool call of it went to
the client. Source: 03-proxy-and-recovery.md 2.10, 4.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from dataplane.core.expand import reply_openai
from dataplane.core.expand.facts import DONE, ChatChoice, ChatChunk, chunk_of
from dataplane.core.expand.raw import NULL, object_of
from dataplane.core.expand.relay import ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply
from dataplane.core.expand.stream import SpliceRelay, with_data
from dataplane.core.expand.tool import is_injected
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import Span, UnparseableError, elements, members, whole
from dataplane.core.wire.splice import Edit, splice
from dataplane.core.wire.sse import SseEvent

_IDENTITY = ("id", "created", "model", "system_fingerprint")
_NOTHING = frozenset({b"", b'""', NULL})


class _Function(msgspec.Struct):
    name: str | None = None


class _ToolCall(msgspec.Struct):
    function: _Function | None = None


_tool_calls = msgspec.json.Decoder(list[_ToolCall] | None)


class OpenAiSplice(SpliceRelay):
    def __init__(self) -> None:
        super().__init__(Dialect.OPENAI_CHAT)
        self._identity: dict[str, bytes] = {}
        self._several_choices = False
        self._latest: tuple[SseEvent, ChatChunk | None] | None = None

    def _read(self, event: SseEvent) -> bool:
        chunk = self._chunk(event)
        if chunk is None:
            return False
        self._facts.hear(event)
        self._facts.read_chunk(chunk)
        choices = chunk.choices or []
        if choices and not self._identity:
            self._identity = identity_of(event.data)
        if len(choices) > 1 or any(choice.index for choice in choices):
            self._several_choices = True
        return not self._several_choices and any(map(calls_us, choices))

    def _written(self, event: SseEvent) -> bytes:
        chunk = self._chunk(event) if self._continuations else None
        if chunk is None:
            return event.raw
        return b"" if is_role_only(chunk) else renamed(event, self._identity)

    def _count(self, event: SseEvent) -> None:
        chunk = self._chunk(event)
        if chunk is None or not chunk.choices:
            return
        carries = any(map(carries_content, chunk.choices))
        finishes = any(choice.finish_reason for choice in chunk.choices)
        self.blocks_sent += carries
        self._round.begun = self._round.begun or carries or finishes

    def _is_last(self, event: SseEvent) -> bool:
        return event.data == DONE

    def _is_whole(self, *, complete: bool) -> bool:
        return self._round.ended or (complete and self.stop_reason is not None)

    def _rebuilt(self, events: list[SseEvent]) -> Reply:
        return UNREADABLE_REPLY if self._several_choices else reply_openai.from_events(events)

    def _messages(self, reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
        return reply_openai.continuation(reply, results)

    def _ending(self, withheld: list[SseEvent]) -> list[SseEvent]:
        """Nothing: a stream that broke off is known by its missing [DONE]."""
        return []

    def _failure(self, tail: bytes) -> bytes:
        return tail

    def _chunk(self, event: SseEvent) -> ChatChunk | None:
        if self._latest is None or self._latest[0] is not event:
            self._latest = (event, chunk_of(event))
        return self._latest[1]


def calls_us(choice: ChatChoice) -> bool:
    """Whether a choice's delta begins a call of an injected tool."""
    written = (choice.delta or {}).get("tool_calls")
    if written is None:
        return False
    try:
        calls = _tool_calls.decode(written) or []
    except (msgspec.DecodeError, UnicodeError):
        return False
    return any(call.function and is_injected(call.function.name or "") for call in calls)


def carries_content(choice: ChatChoice) -> bool:
    """Whether the delta holds more than the role."""
    delta: dict[str, Raw] = choice.delta or {}
    return any(name != "role" and bytes(value) not in _NOTHING for name, value in delta.items())


def is_role_only(chunk: ChatChunk) -> bool:
    """True for the opening chunk of a stream, which announces nothing but the role."""
    choices = chunk.choices or []
    return any("role" in (choice.delta or {}) for choice in choices) and not any(
        carries_content(choice) or choice.finish_reason for choice in choices
    )


def identity_of(written: bytes) -> dict[str, bytes]:
    """The members by which a chunk names its completion, as they are written."""
    try:
        found = members(written, whole(written))
    except UnparseableError:
        return {}
    spans = {name: found[name].value for name in _IDENTITY if name in found}
    return {name: written[span.start : span.end] for name, span in spans.items()}


def renamed(event: SseEvent, identity: dict[str, bytes]) -> bytes:
    """The bytes of a chunk that continues the completion with this identity, its role left out."""
    written = event.data
    try:
        found = members(written, whole(written))
        edits = [
            Edit(found[name].value, value) for name, value in identity.items() if name in found
        ]
        if "choices" in found:
            edits += _without_role(written, found["choices"].value)
    except UnparseableError:
        return event.raw
    return with_data(event, splice(written, edits))


def _without_role(written: bytes, choices: Span) -> Iterator[Edit]:
    """The client's accumulator would join a second role to the first."""
    for choice in elements(written, choices):
        delta = members(written, choice).get("delta")
        if delta is None or written[delta.value.start : delta.value.end] == NULL:
            continue
        inside = members(written, delta.value)
        if "role" in inside:
            kept = {name: member.value for name, member in inside.items() if name != "role"}
            bare = {name: written[span.start : span.end] for name, span in kept.items()}
            yield Edit(delta.value, object_of(bare))
