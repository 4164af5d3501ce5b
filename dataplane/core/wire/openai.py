"""OpenAI Chat Completions: from body bytes to messages (01-components.md 1.9)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw

from dataplane.core.content import Content
from dataplane.core.wire.message import Message, Role
from dataplane.core.wire.spans import (
    ARRAY,
    STRING,
    Span,
    members,
    opening,
    same_place,
    sole_place,
)


class _Part(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Element(msgspec.Struct):
    role: str
    content: Raw = Raw(b"null")
    tool_call_id: str = ""


_element = msgspec.json.Decoder(_Element)
_parts = msgspec.json.Decoder(list[_Part])
_string = msgspec.json.Decoder(str)
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def messages_of(body: bytes, span: Span) -> list[Message]:
    """The one normalised message of a body message; raises msgspec errors when it has no shape."""
    element = _element.decode(memoryview(body)[span.start : span.end])
    role = _ROLES.get(element.role, Role.USER)
    text, is_text = _text(element.content)
    writable = is_text and role is Role.TOOL
    return [
        Message(
            role,
            Content(text),
            rewritable=writable,
            locate=_content(body, span, element.content) if writable else None,
            call_id=element.tool_call_id,
        )
    ]


def _text(content: Raw) -> tuple[str, bool]:
    """The text of a content value, and whether it is text and nothing else."""
    head = opening(content)
    if head == STRING:
        return _string.decode(content), True
    if head != ARRAY:
        return "", True
    parts = _parts.decode(content)
    texts = [part.text for part in parts if part.type in {"text", ""}]
    return "".join(texts), len(texts) == len(parts)


def _content(body: bytes, span: Span, content: Raw) -> Callable[[], Span]:
    def locate() -> Span:
        found = sole_place(body, span, content)
        return found or same_place(body, members(body, span)["content"].value, content)

    return locate
