"""Request body to conversation: one entry for every dialect.

Source: 03-proxy-and-recovery.md 2.1 (8) and 2.7.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

import msgspec

from dataplane.core.text.content import Content
from dataplane.core.wire import anthropic, openai, responses
from dataplane.core.wire.calls import Calls
from dataplane.core.wire.depth import is_too_deep
from dataplane.core.wire.marks import breakpoints
from dataplane.core.wire.message import Conversation, Dialect, Message, Role
from dataplane.core.wire.spans import (
    ARRAY,
    STRING,
    Member,
    Span,
    UnparseableError,
    elements,
    outline,
)
from dataplane.core.wire.tool_choice import name_of, tool_choice_of

_PIECE_BYTES = 1 << 20
_CODECS: dict[Dialect, Callable[[bytes, Span, Calls], list[Message]]] = {
    Dialect.ANTHROPIC: anthropic.messages_of,
    Dialect.OPENAI_CHAT: openai.messages_of,
    Dialect.OPENAI_RESPONSES: responses.messages_of,
}


class NoMessagesError(ValueError):
    """The body is a JSON object, but there is no message list in it."""


def decode(dialect: Dialect, body: bytes) -> Conversation:
    """The conversation of a request body.

    Raises UnparseableError when the bytes cannot be edited safely, NoMessagesError when there
    is nothing to edit. A message of an unknown shape is presented as an empty user message; a
    message that holds a lone surrogate is presented, but locating its text raises.
    """
    _require_utf8(body)
    if is_too_deep(body):
        raise UnparseableError("too deep")
    top, readable = outline(body)
    return _conversation(dialect, body, readable, top)


def _conversation(
    dialect: Dialect, body: bytes, readable: bytes, top: dict[str, Member]
) -> Conversation:
    if dialect.list_name not in top:
        raise NoMessagesError
    spans, found = _list(dialect, body, readable, top)
    marks, offers_1h = breakpoints(readable, top, spans)
    return Conversation(
        dialect,
        body,
        top,
        spans,
        found,
        model=_scalar(readable, top, "model", str, ""),
        streams=_scalar(readable, top, "stream", bool, default=False),
        tool_names=_tool_names(readable, top),
        tool_choice=tool_choice_of(readable, top),
        marks=marks,
        offers_1h=offers_1h,
    )


def _list(
    dialect: Dialect, body: bytes, readable: bytes, top: dict[str, Member]
) -> tuple[list[Span], list[Message]]:
    """The spans of the body's own messages, and all of them normalised."""
    place = top[dialect.list_name].value
    found: list[Message] = []
    if dialect is Dialect.OPENAI_RESPONSES:
        found += responses.instructions_of(_written(readable, top, "instructions"))
        if readable[place.start] == STRING:
            return [], found + responses.told(readable[place.start : place.end])
    spans = elements(readable, place)
    read, calls = _CODECS[dialect], Calls()
    for span in spans:
        found += _messages(lambda at: read(readable, at, calls), body, readable, span)
    return spans, found


def _written(readable: bytes, top: dict[str, Member], name: str) -> bytes | None:
    member = top.get(name)
    return None if member is None else readable[member.value.start : member.value.end]


def _messages(
    read: Callable[[Span], list[Message]], body: bytes, readable: bytes, span: Span
) -> list[Message]:
    try:
        found = read(span)
    except (msgspec.MsgspecError, RecursionError):
        return [Message(Role.USER, Content(""))]
    if readable is not body and readable[span.start : span.end] != body[span.start : span.end]:
        for message in found:
            message.locate = _unwritable
    return found


def _unwritable() -> Span:
    raise UnparseableError("lone surrogate")


def _require_utf8(body: bytes) -> None:
    if body.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(body), _PIECE_BYTES):
            decoder.decode(body[start : start + _PIECE_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise UnparseableError("not UTF-8") from error


def _value(body: bytes, top: dict[str, Member], name: str) -> Any:
    member = top.get(name)
    return None if member is None else _decoded(body, member.value)


def _decoded(body: bytes, span: Span) -> Any:
    try:
        return msgspec.json.decode(memoryview(body)[span.start : span.end])
    except (msgspec.DecodeError, RecursionError):
        return None


def _scalar(body: bytes, top: dict[str, Member], name: str, kind: type, default: Any) -> Any:
    value = _value(body, top, name)
    return value if isinstance(value, kind) else default


def _tool_names(body: bytes, top: dict[str, Member]) -> list[str]:
    tools = top.get("tools")
    if tools is None or body[tools.value.start] != ARRAY:
        return []
    # One by one: a number out of range in one of them must not hide how many there are.
    return [name_of(_decoded(body, span)) for span in elements(body, tools.value)]
