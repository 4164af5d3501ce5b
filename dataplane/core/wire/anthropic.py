"""Anthropic Messages: from body bytes to messages (01-components.md 1.9)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from dataplane.core.content import Content
from dataplane.core.wire.message import Message, Role
from dataplane.core.wire.spans import (
    ARRAY,
    STRING,
    Span,
    elements,
    members,
    opening,
    same_place,
    sole_place,
)


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    tool_use_id: str = ""
    content: Raw = Raw(b"null")


class _Part(msgspec.Struct):
    type: str = ""
    text: Raw = Raw(b'""')


class _Element(msgspec.Struct):
    role: str
    content: Raw = Raw(b"null")


_element = msgspec.json.Decoder(_Element)
_blocks = msgspec.json.Decoder(list[_Block])
_parts = msgspec.json.Decoder(list[_Part])
_string = msgspec.json.Decoder(str)
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


def messages_of(body: bytes, span: Span) -> list[Message]:
    """The normalised messages of one body message; raises msgspec errors when it has no shape.

    A user message that carries tool results becomes one tool message per result text; its other
    blocks are not presented. Everything else becomes one message that is never rewritten.
    """
    element = _element.decode(memoryview(body)[span.start : span.end])
    role = _ROLES.get(element.role, Role.USER)
    head = opening(element.content)
    if head == STRING:
        return [Message(role, Content(_string.decode(element.content)))]
    if head != ARRAY:
        return [Message(role, Content(""))]
    blocks = _blocks.decode(element.content)
    outputs = list(_tool_outputs(body, span, blocks)) if role is Role.USER else []
    if outputs:
        return outputs
    return [Message(role, Content("".join(b.text for b in blocks if b.type == "text")))]


def _tool_outputs(body: bytes, span: Span, blocks: list[_Block]) -> Iterator[Message]:
    for index, block in enumerate(blocks):
        if block.type != "tool_result":
            continue
        head = opening(block.content)
        if head == STRING:
            yield _output(body, span, block, block.content, (index, None))
        elif head == ARRAY:
            for number, part in enumerate(_parts.decode(block.content)):
                if part.type == "text":
                    yield _output(body, span, block, part.text, (index, number))


def _output(
    body: bytes, span: Span, block: _Block, literal: Raw, path: tuple[int, int | None]
) -> Message:
    """The message of one result text. path: its block, and its part in the block's array."""

    def locate() -> Span:
        found = sole_place(body, span, literal)
        return found or same_place(body, _walked(body, span, path), literal)

    text = Content(_string.decode(literal))
    return Message(Role.TOOL, text, rewritable=True, locate=locate, call_id=block.tool_use_id)


def _walked(body: bytes, span: Span, path: tuple[int, int | None]) -> Span:
    block, part = path
    content = members(body, span)["content"].value
    result = members(body, elements(body, content)[block])["content"].value
    if part is None:
        return result
    return members(body, elements(body, result)[part])["text"].value
