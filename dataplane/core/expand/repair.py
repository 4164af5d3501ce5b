"""Recovery calls that reached the client, and the answers it gave for want of a better one.

A turn that mixes a recovery call with a tool of the client goes to the client whole; its error
result comes back with the next request and every one after it. Here the result gets the text
that the gateway would have given, the same bytes on every turn.
Source: 03-proxy-and-recovery.md 4.6.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec import Raw

from dataplane.core.expand.relay import Call
from dataplane.core.tools import tool
from dataplane.core.wire.message import Conversation, Dialect, Message
from dataplane.core.wire.responses import OUTPUTS
from dataplane.core.wire.spans import Member, Span, elements, members
from dataplane.core.wire.splice import Edit, string_literal

_NONE: Mapping[str, Call] = MappingProxyType({})


class Stray(NamedTuple):
    """A call of ours that the client answered.

    parts: the members of the object that holds its answer, in the one of this name.
    """

    call: Call
    parts: dict[str, Member]
    member: str = "content"


class Said:
    """What the messages of a request say, by text and by the call that they answer."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._first: dict[str, int] = {}
        self._answers: dict[str, list[tuple[int, str]]] = {}
        for index, message in enumerate(messages):
            text = message.content.text
            self._first.setdefault(text, index)
            if message.call_id:
                self._answers.setdefault(message.call_id, []).append((index, text))

    def answer(self, call_id: str) -> str:
        """What the client answered, as text."""
        return "".join(text for _, text in self._answers.get(call_id, ()))

    def is_before(self, call_id: str, original: str) -> bool:
        """True when a message before the answer to a call holds the original.

        One behind it does not count: it was not there yet when the answer was first sent.
        """
        place, _ = self._answers.get(call_id, [(0, "")])[0]
        return self._first.get(original, place) < place


class _Function(msgspec.Struct):
    name: str = ""
    arguments: str = ""


class _Block(msgspec.Struct):
    """A content block (Anthropic) or an entry of tool_calls (OpenAI)."""

    type: str = ""
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"null")
    tool_use_id: str = ""
    function: _Function = msgspec.field(default_factory=_Function)


class _Element(msgspec.Struct):
    role: str
    content: Raw = Raw(b"null")
    tool_calls: list[_Block] | None = None
    tool_call_id: str | None = None


class _Item(msgspec.Struct):
    """An input item of the Responses dialect."""

    type: str = ""
    name: str = ""
    call_id: str = ""
    arguments: str = ""


_item = msgspec.json.Decoder(_Item)
_element = msgspec.json.Decoder(_Element)
_blocks = msgspec.json.Decoder(list[_Block])


class _Input(msgspec.Struct):
    id: str | None = None


_input = msgspec.json.Decoder(_Input)


def strays(conversation: Conversation, elsewhere: Mapping[str, Call] = _NONE) -> list[Stray]:
    """The answered calls of ours, in the order of their results; mostly none.

    elsewhere: by their ids, calls that are not in the body itself. An answer that names a member
    twice stays as it came: nobody can tell which of them counts.
    """
    body = conversation.body
    if not elsewhere and not _names_ours(conversation):
        return []
    find = _FINDERS[conversation.dialect]
    calls = dict(elsewhere)
    found: list[Stray] = []
    for span in conversation.elements:
        try:
            found += find(body, span, calls)
        except (msgspec.MsgspecError, ValueError):
            continue
    return found


def answered_calls(conversation: Conversation) -> frozenset[str]:
    """Ids of the calls that ask for an original, whatever the client puts before the tool's name.

    What answers them was asked for, so it must not be taken away again.
    """
    body = conversation.body
    if not _names_ours(conversation):
        return frozenset()
    calls: dict[str, str] = {}
    for span in conversation.elements:
        if body.find(tool.EXPAND.encode(), span.start, span.end) < 0:
            continue
        with contextlib.suppress(msgspec.MsgspecError, ValueError):
            calls.update(_CALLED[conversation.dialect](body, span))
    return frozenset(call_id for call_id, name in calls.items() if tool.recovers(name))


def _names_ours(conversation: Conversation) -> bool:
    """Whether a tool of ours is named in the messages; mostly it is nowhere in the body."""
    if not conversation.says(tool.SIGN):
        return False
    place = conversation.members[conversation.dialect.list_name].value
    return conversation.body.find(tool.SIGN, place.start, place.end) >= 0


def edits(stray: Stray, text: str) -> Iterator[Edit]:
    """The edits that make `text` the answer to a call, and no error."""
    content = stray.parts.get(stray.member)
    if content is None:
        end = _end(stray.parts)
        name = string_literal(stray.member)
        yield Edit(Span(end, end), b"," + name + b":" + string_literal(text))
    else:
        yield Edit(content.value, string_literal(text))
    error = stray.parts.get("is_error")
    if error is not None:
        yield Edit(error.value, b"false")


def _end(parts: dict[str, Member]) -> int:
    return max(part.value.end for part in parts.values())


def _anthropic(body: bytes, span: Span, calls: dict[str, Call]) -> Iterator[Stray]:
    element = _element.decode(memoryview(body)[span.start : span.end])
    if not bytes(element.content).startswith(b"["):
        return
    spans: list[Span] = []
    for number, block in enumerate(_blocks.decode(element.content)):
        if element.role == "assistant" and block.type == "tool_use" and block.id:
            _note(calls, block.id, block.name, bytes(block.input))
        elif block.type == "tool_result" and block.tool_use_id in calls:
            spans = spans or elements(body, members(body, span)["content"].value)
            yield Stray(calls[block.tool_use_id], members(body, spans[number]))


def _openai(body: bytes, span: Span, calls: dict[str, Call]) -> Iterator[Stray]:
    element = _element.decode(memoryview(body)[span.start : span.end])
    for call in element.tool_calls or ():
        if call.id:
            _note(calls, call.id, call.function.name, call.function.arguments.encode())
    if element.role == "tool" and element.tool_call_id in calls:
        yield Stray(calls[element.tool_call_id], members(body, span))


def _responses(body: bytes, span: Span, calls: dict[str, Call]) -> Iterator[Stray]:
    item = _item.decode(memoryview(body)[span.start : span.end])
    if item.type == "function_call" and item.call_id:
        _note(calls, item.call_id, item.name, item.arguments.encode())
    elif item.type in OUTPUTS and item.call_id in calls:
        yield Stray(calls[item.call_id], members(body, span), "output")


def _called_anthropic(body: bytes, span: Span) -> Iterator[tuple[str, str]]:
    element = _element.decode(memoryview(body)[span.start : span.end])
    if element.role == "assistant" and bytes(element.content).startswith(b"["):
        for block in _blocks.decode(element.content):
            if block.type == "tool_use" and block.id:
                yield block.id, block.name


def _called_openai(body: bytes, span: Span) -> Iterator[tuple[str, str]]:
    element = _element.decode(memoryview(body)[span.start : span.end])
    for call in element.tool_calls or ():
        if call.id:
            yield call.id, call.function.name


def _called_responses(body: bytes, span: Span) -> Iterator[tuple[str, str]]:
    item = _item.decode(memoryview(body)[span.start : span.end])
    if item.type == "function_call" and item.call_id:
        yield item.call_id, item.name


_CALLED: dict[Dialect, Callable[[bytes, Span], Iterator[tuple[str, str]]]] = {
    Dialect.ANTHROPIC: _called_anthropic,
    Dialect.OPENAI_CHAT: _called_openai,
    Dialect.OPENAI_RESPONSES: _called_responses,
}
_FINDERS: dict[Dialect, Callable[[bytes, Span, dict[str, Call]], Iterator[Stray]]] = {
    Dialect.ANTHROPIC: _anthropic,
    Dialect.OPENAI_CHAT: _openai,
    Dialect.OPENAI_RESPONSES: _responses,
}


def _note(calls: dict[str, Call], call_id: str, name: str, arguments: bytes) -> None:
    if not tool.is_injected(name):
        calls.pop(call_id, None)  # an id that a client used again is this call's from here on
        return
    try:
        wanted = _input.decode(arguments).id
    except msgspec.DecodeError:
        wanted = None
    calls[call_id] = Call(call_id, name, wanted)
