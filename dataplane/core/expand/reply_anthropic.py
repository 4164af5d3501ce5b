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
from dataplane.core.expand.raw import (
    array_of,
    joined,
    marker_id_in,
    members_of,
    merged,
    object_of,
    text_of,
)
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply, reply_of
from dataplane.core.tools.tool import is_injected
from dataplane.core.wire.splice import string_literal
from dataplane.core.wire.sse import SseEvent

_ABSENT = Raw(b"")
_ERRORS = (msgspec.DecodeError, UnicodeError, KeyError, RecursionError)


class _Body(msgspec.Struct):
    content: Raw = Raw(b"[]")
    container: Raw = _ABSENT


class _Frame(msgspec.Struct):
    """message_start or message_delta: either may name the container."""

    message: _Body | None = None
    delta: _Body | None = None


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
_frame = msgspec.json.Decoder(_Frame)


def from_body(body: bytes) -> Reply:
    """The turn of a message that came as one JSON body."""
    try:
        seen = _body.decode(body)
        return _reply(_list_of(seen.content), bytes(seen.content), _id_of(seen.container))
    except _ERRORS:
        return UNREADABLE_REPLY


def from_events(events: Sequence[SseEvent]) -> Reply:
    """The turn of one complete stream."""
    try:
        blocks = [block.written() for block in _collected(events).values()]
        return _reply(blocks, array_of(blocks), _container_of(events))
    except _ERRORS:
        return UNREADABLE_REPLY


def blocks_of(body: bytes) -> list[bytes]:
    """The content blocks of a message. Raises msgspec.DecodeError."""
    return _list_of(_body.decode(body).content)


def is_ours(block: bytes) -> bool:
    """Whether a content block is a call of a tool that the gateway answers itself."""
    try:
        seen = _block.decode(block)
    except _ERRORS:
        return False
    return seen.type == "tool_use" and is_injected(seen.name)


def _list_of(content: Raw) -> list[bytes]:
    return [bytes(block) for block in _blocks.decode(content)]


def _id_of(container: Raw) -> bytes:
    """The id of a container as it is written, empty where none is named."""
    named = bytes(container)
    found = members_of(named).get("id", b"") if named.startswith(b"{") else b""
    return found if found.startswith(b'"') else b""


def _container_of(events: Iterable[SseEvent]) -> bytes:
    """The id of the last container that a stream names, as it is written."""
    named = b""
    for event in events:
        if kind_of(event) in {b"message_start", b"message_delta"}:
            frame = _frame.decode(event.data)
            for part in (frame.message, frame.delta):
                named = (_id_of(part.container) if part else b"") or named
    return named


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


def _reply(blocks: list[bytes], content: bytes, container: bytes) -> Reply:
    """Server-side tool blocks are no client tools: the provider has answered them itself."""
    uses = [use for use in map(_block.decode, blocks) if use.type == "tool_use"]
    ours = [use for use in uses if is_injected(use.name)]
    return reply_of(
        [_call(use) for use in ours],
        b'{"role":"assistant","content":' + content + b"}",
        others=len(ours) < len(uses),
        container=container,
    )


def _call(use: _Block) -> Call | None:
    try:
        wanted = marker_id_in(bytes(use.input))
    except _ERRORS:
        return None
    return Call(use.id, use.name, wanted) if use.id else None


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
    """A content block that grows by deltas.

    A delta adds to the member of the block that has the name of its own, whatever its type: what
    nobody here knows yet is echoed as well, for a provider refuses a turn that it did not say.
    """

    def __init__(self, start: Raw) -> None:
        self._raw = bytes(start)
        self._start = members_of(start)
        self._deltas: list[dict[str, bytes]] = []
        self._input: list[bytes] = []
        self._citations: list[bytes] = []

    def add(self, delta: dict[str, bytes]) -> None:
        kind = text_of(delta.pop("type"))
        if kind == "input_json_delta":
            self._input.append(delta["partial_json"])
        elif kind == "citations_delta":
            self._citations.append(delta["citation"])
        else:
            self._deltas.append(delta)

    def written(self) -> bytes:
        if not (self._deltas or self._input or self._citations):
            return self._raw
        members = {**self._start, **merged([self._begun(), *self._deltas])}
        if self._input:
            members["input"] = _tool_input(self._input) or members["input"]
        if self._citations:
            cited = {"citations": array_of(self._citations)}
            begun = {"citations": members.get("citations", b"null")}
            members["citations"] = merged([begun, cited])["citations"]
        return object_of(members)

    def _begun(self) -> dict[str, bytes]:
        """What the block began with of the members that its deltas add to."""
        grown = {name for delta in self._deltas for name in delta}
        return {name: value for name, value in self._start.items() if name in grown}


def _tool_input(pieces: list[bytes]) -> bytes:
    """The streamed input, which must be a whole JSON object; empty when nothing was streamed."""
    written = text_of(joined(pieces)).encode()
    if written:
        members_of(written)
    return written
