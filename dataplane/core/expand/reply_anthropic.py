"""The assistant's turn in the Anthropic dialect: read, echoed and answered.

The provider refuses a changed thinking block, so content is copied, never re-encoded: a block
from a body as it is, a block from a stream by joining the literals of its deltas.
Source: 03-proxy-and-recovery.md 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw

from dataplane.core.expand.facts import kind_of
from dataplane.core.expand.raw import array_of, joined, marker_id_in, members_of, object_of, text_of
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply
from dataplane.core.expand.tool import is_injected
from dataplane.core.wire.splice import string_literal
from dataplane.core.wire.sse import SseEvent

# Delta type to the member of the delta that carries it; unknown types make the turn unreadable.
_CARRIED_IN = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
    "citations_delta": "citation",
}
_ERRORS = (msgspec.DecodeError, UnicodeError, KeyError, RecursionError)


class _Body(msgspec.Struct):
    content: Raw


class _Block(msgspec.Struct):
    type: str
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"{}")


class _BlockEvent(msgspec.Struct):
    index: int
    content_block: Raw = Raw(b"")
    delta: Raw = Raw(b"")


_event = msgspec.json.Decoder(_BlockEvent)
_block = msgspec.json.Decoder(_Block)
_blocks = msgspec.json.Decoder(list[Raw])
_body = msgspec.json.Decoder(_Body)


def from_body(body: bytes) -> Reply:
    """The turn of a message that came as one JSON body."""
    try:
        content = _body.decode(body).content
        return _reply([bytes(block) for block in _blocks.decode(content)], bytes(content))
    except _ERRORS:
        return UNREADABLE_REPLY


def from_events(events: Iterable[SseEvent]) -> Reply:
    """The turn of one complete stream."""
    try:
        blocks = [block.written() for block in _collected(events).values()]
        return _reply(blocks, array_of(blocks))
    except _ERRORS:
        return UNREADABLE_REPLY


def continuation(reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, bytes]:
    """The echoed turn and the user message with one result per call."""
    answers = array_of(_tool_result(result) for result in results)
    return reply.assistant, b'{"role":"user","content":' + answers + b"}"


def _tool_result(result: ToolResult) -> bytes:
    return object_of(
        {
            "type": b'"tool_result"',
            "tool_use_id": string_literal(result.call_id),
            "content": string_literal(result.text),
        }
    )


def _reply(blocks: list[bytes], content: bytes) -> Reply:
    """Server-side tool blocks are no client tools: the provider has answered them itself."""
    uses = [use for use in map(_block.decode, blocks) if use.type == "tool_use"]
    ours = [use for use in uses if is_injected(use.name)]
    calls = tuple(Call(use.id, use.name, marker_id_in(bytes(use.input))) for use in ours)
    answerable = not ours or (len(ours) == len(uses) and all(use.id for use in ours))
    return Reply(calls, b'{"role":"assistant","content":' + content + b"}", answerable)


def _collected(events: Iterable[SseEvent]) -> dict[int, _StreamedBlock]:
    blocks: dict[int, _StreamedBlock] = {}
    for event in events:
        kind = kind_of(event)
        if kind == b"content_block_start":
            seen = _event.decode(event.data)
            blocks[seen.index] = _StreamedBlock(seen.content_block)
        elif kind == b"content_block_delta":
            seen = _event.decode(event.data)
            blocks[seen.index].add(members_of(seen.delta))
    return blocks


class _StreamedBlock:
    """A content block that grows by deltas."""

    def __init__(self, start: Raw) -> None:
        self._start = start
        self._pieces: dict[str, list[bytes]] = {}

    def add(self, delta: dict[str, bytes]) -> None:
        carrier = _CARRIED_IN[text_of(delta["type"])]
        self._pieces.setdefault(carrier, []).append(delta[carrier])

    def written(self) -> bytes:
        if not self._pieces:
            return bytes(self._start)
        members = members_of(self._start)
        for carrier, pieces in self._pieces.items():
            if carrier == "partial_json":
                members["input"] = _tool_input(pieces) or members["input"]
            elif carrier == "citation":
                members["citations"] = _extended(members.get("citations", b"null"), pieces)
            else:
                members[carrier] = joined([members.get(carrier, b""), *pieces])
        return object_of(members)


def _tool_input(pieces: list[bytes]) -> bytes:
    """The streamed input, which must be a whole JSON object; empty when nothing was streamed."""
    written = text_of(joined(pieces)).encode()
    if written:
        members_of(written)
    return written


def _extended(array: bytes, items: list[bytes]) -> bytes:
    earlier = [] if array == b"null" else [bytes(item) for item in _blocks.decode(array)]
    return array_of([*earlier, *items])
