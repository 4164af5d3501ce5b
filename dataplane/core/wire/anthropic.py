"""Anthropic Messages: from body bytes to messages (01-components.md 1.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import msgspec
from msgspec import Raw

from dataplane.core.text.content import Content
from dataplane.core.wire.calls import Calls, answered, caller_of, note
from dataplane.core.wire.message import Message, Role
from dataplane.core.wire.pieces import NOTHING, text_of, text_or_none
from dataplane.core.wire.spans import (
    ARRAY,
    STRING,
    Span,
    elements_in,
    members,
    opening,
    same_place,
    sole_place,
)


# Programs that write every member they know write null for those that have no value.
class _Block(msgspec.Struct):
    type: str = ""
    text: Raw = NOTHING
    tool_use_id: str | None = None
    content: Raw = NOTHING
    id: Raw = NOTHING
    name: Raw = NOTHING
    input: Raw = NOTHING
    caller: Raw = NOTHING


class _Part(msgspec.Struct):
    type: str = ""
    text: Raw = Raw(b'""')


class _Element(msgspec.Struct):
    role: str
    content: Raw = Raw(b"null")


_element = msgspec.json.Decoder(_Element)
_blocks = msgspec.json.Decoder(list[_Block])
_parts = msgspec.json.Decoder(list[_Part])
_RUN_BY_PROVIDER = frozenset({"server_tool_use", "mcp_tool_use"})
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


def messages_of(body: bytes, span: Span, calls: Calls) -> list[Message]:
    """The normalised messages of one body message; raises msgspec errors when it has no shape.

    A user message that carries tool results becomes one tool message per result text, one without
    text for a result that holds nothing but other blocks; the blocks beside the results are not
    presented. Everything else becomes one message that is never rewritten. calls: those of the
    messages before, to which its own are added.
    """
    element = _element.decode(memoryview(body)[span.start : span.end])
    role = _ROLES.get(element.role, Role.USER)
    head = opening(element.content)
    if head == STRING:
        return [Message(role, Content(text_of(element.content)))]
    if head != ARRAY:
        return [Message(role, Content(""))]
    blocks = _blocks.decode(element.content)
    _note_calls(blocks, calls)
    outputs = list(_tool_outputs(body, span, blocks, calls)) if role is Role.USER else []
    if outputs:
        return outputs
    return [
        Message(role, Content("".join(text_or_none(b.text) for b in blocks if b.type == "text")))
    ]


def _note_calls(blocks: list[_Block], calls: Calls) -> None:
    """A tool that the provider itself runs is called by the model, and read by what it runs."""
    for block in blocks:
        if block.type == "tool_use":
            note(calls, block.id, block.name, block.input, caller_of(block.caller))
        elif block.type in _RUN_BY_PROVIDER:
            note(calls, block.id, block.name, block.input, block.type)


def _tool_outputs(body: bytes, span: Span, blocks: list[_Block], calls: Calls) -> Iterator[Message]:
    places = _Places(body, span)
    for index, block in enumerate(blocks):
        if block.type == "tool_result":
            found = list(_slots(block, places, index))
            if not found and _has_blocks(block):
                found = [Message(Role.TOOL, Content(""))]
            for message in found:
                message.call_id = block.tool_use_id or ""
                message.call = answered(calls, message.call_id)
            yield from found


def _slots(block: _Block, places: _Places, index: int) -> Iterator[Message]:
    """The texts of one result, each of which can be rewritten on its own."""
    head = opening(block.content)
    if head == STRING:
        yield _output(block.content, places, (index, None))
    elif head == ARRAY:
        for number, part in enumerate(_parts.decode(block.content)):
            if part.type == "text":
                yield _output(part.text, places, (index, number))


def _has_blocks(block: _Block) -> bool:
    return opening(block.content) == ARRAY and bool(_parts.decode(block.content))


def _output(literal: Raw, places: _Places, path: _Path) -> Message:
    text, locate = Content(text_of(literal)), places.locate(literal, path)
    return Message(Role.TOOL, text, rewritable=True, locate=locate)


# The place of a result text: its block, and its part where the block holds an array.
_Path = tuple[int, int | None]


class _Places:
    """Where the result texts of one message lie. It is walked once, for the first that changes."""

    def __init__(self, body: bytes, span: Span) -> None:
        self._body = body
        self._span = span
        self._asked = 0
        self._parts: dict[int, list[Span]] = {}

    def locate(self, literal: Raw, path: _Path) -> Callable[[], Span]:
        """Finds the literal that was read at this path; UnparseableError, KeyError, IndexError."""
        self._asked += 1

        def find() -> Span:
            # The only one is found faster by its bytes.
            found = sole_place(self._body, self._span, literal) if self._asked == 1 else None
            return found or same_place(self._body, self._walked(path), literal)

        return find

    def _walked(self, path: _Path) -> Span:
        block, part = path
        if part is None:
            return members(self._body, self._blocks[block])["content"].value
        if block not in self._parts:
            self._parts[block] = elements_in(self._body, self._blocks[block], "content")
        return members(self._body, self._parts[block][part])["text"].value

    @cached_property
    def _blocks(self) -> list[Span]:
        return elements_in(self._body, self._span, "content")
