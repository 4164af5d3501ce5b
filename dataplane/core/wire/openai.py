"""OpenAI Chat Completions: from body bytes to messages (01-components.md 1.9)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import msgspec
from msgspec import Raw

from dataplane.core.text.content import Content
from dataplane.core.wire import marks
from dataplane.core.wire.calls import Calls, answered, caller_of, note
from dataplane.core.wire.message import Message, Role
from dataplane.core.wire.pieces import NOTHING, text_of, text_or_none
from dataplane.core.wire.spans import (
    ARRAY,
    STRING,
    Span,
    UnparseableError,
    elements,
    members,
    opening,
    same_place,
    sole_place,
)


# Programs that write every member they know write null for those that have no value.
class _Part(msgspec.Struct):
    type: str | None = None
    text: Raw = NOTHING


class _Element(msgspec.Struct):
    role: str
    content: Raw = NOTHING
    tool_call_id: str | None = None
    tool_calls: Raw = NOTHING


class _Function(msgspec.Struct, frozen=True):
    name: Raw = NOTHING
    arguments: Raw = NOTHING


class _Call(msgspec.Struct):
    id: Raw = NOTHING
    function: _Function = _Function()
    caller: Raw = NOTHING


_element = msgspec.json.Decoder(_Element)
_parts = msgspec.json.Decoder(list[_Part])
_calls = msgspec.json.Decoder(list[_Call])
_TEXTS = frozenset({"text", "", None})
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def messages_of(body: bytes, span: Span, calls: Calls) -> list[Message]:
    """The one normalised message of a body message; raises msgspec errors when it has no shape.

    calls: those of the messages before, to which its own are added.
    """
    element = _element.decode(memoryview(body)[span.start : span.end])
    role = _ROLES.get(element.role, Role.USER)
    text, is_text = _text(element.content)
    writable = is_text and role is Role.TOOL
    call_id = element.tool_call_id or ""
    _note_calls(element.tool_calls, calls)
    return [
        Message(
            role,
            Content(text),
            rewritable=writable,
            locate=_content(body, span, element.content) if writable else None,
            call_id=call_id,
            call=answered(calls, call_id),
        )
    ]


def _note_calls(written: Raw, calls: Calls) -> None:
    if opening(written) != ARRAY:
        return
    with contextlib.suppress(msgspec.MsgspecError):  # then nothing is known of them
        for call in _calls.decode(written):
            note(
                calls, call.id, call.function.name, call.function.arguments, caller_of(call.caller)
            )


def _text(content: Raw) -> tuple[str, bool]:
    """The text of a content value, and whether it is text and nothing else."""
    head = opening(content)
    if head == STRING:
        return text_of(content), True
    if head != ARRAY:
        return "", True
    parts = _parts.decode(content)
    texts = [text_or_none(part.text) for part in parts if part.type in _TEXTS]
    return "".join(texts), len(texts) == len(parts)


def _content(body: bytes, span: Span, content: Raw) -> Callable[[], Span]:
    def locate() -> Span:
        found = sole_place(body, span, content)
        return _text_in(
            body, found or same_place(body, members(body, span)["content"].value, content)
        )

    return locate


def _text_in(body: bytes, content: Span) -> Span:
    """Where a new text goes: into the only part there is, so that a cache breakpoint of it stays,
    or in place of several. Raises UnparseableError where that would take a breakpoint away.
    """
    if body[content.start] != ARRAY:
        return content
    parts = [members(body, part) for part in elements(body, content)]
    if len(parts) == 1 and "text" in parts[0]:
        return parts[0]["text"].value
    if any(name in part for part in parts for name in marks.NAMES):
        raise UnparseableError("a breakpoint on one of several parts")
    return content
