"""OpenAI Responses: from body bytes to messages (03-proxy-and-recovery.md 2.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial

import msgspec
from msgspec import Raw

from dataplane.core.content import Content
from dataplane.core.wire.message import Message, Role
from dataplane.core.wire.pieces import NOTHING, text_of, text_or_none
from dataplane.core.wire.spans import ARRAY, STRING, Span, elements_in, members, opening

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


# Programs that write every member they know write null for those that have no value.
class _Part(msgspec.Struct):
    type: str = ""
    text: Raw = NOTHING


class _Item(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    content: Raw = Raw(b"null")
    output: Raw = Raw(b"null")
    call_id: str | None = None


_item = msgspec.json.Decoder(_Item)
_parts = msgspec.json.Decoder(list[_Part])
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_TEXTS = frozenset({"input_text", "output_text", "text"})


def instructions_of(written: bytes | None) -> list[Message]:
    """`instructions` as a system message; none where it holds no text."""
    return _spoken(Role.SYSTEM, written)


def told(written: bytes) -> list[Message]:
    """An `input` that is one text of the user."""
    return _spoken(Role.USER, written)


def _spoken(role: Role, written: bytes | None) -> list[Message]:
    if written is None or written[0] != STRING:
        return []
    try:
        return [Message(role, Content(text_of(written)))]
    except (msgspec.DecodeError, UnicodeError):
        return [Message(role, Content(""))]


def messages_of(body: bytes, span: Span) -> list[Message]:
    """The normalised messages of one input item; raises msgspec errors when it has no shape.

    A tool output is one tool message, or one per text part where it is a list. Items that are
    neither outputs nor messages are never interpreted; each counts as one message without text.
    """
    item = _item.decode(memoryview(body)[span.start : span.end])
    if item.type in OUTPUTS:
        return list(_outputs(body, span, item)) or [
            Message(Role.TOOL, Content(""), call_id=item.call_id or "")
        ]
    if item.type in {None, "", "message"}:
        return [Message(_ROLES.get(item.role or "", Role.USER), Content(_text(item.content)))]
    return [Message(Role.ASSISTANT, Content(""))]


def _outputs(body: bytes, span: Span, item: _Item) -> Iterator[Message]:
    head = opening(item.output)
    if head == STRING:
        text = text_of(item.output)
        yield _output(item, text, lambda: members(body, span)["output"].value)
    elif head == ARRAY:
        places = _Parts(body, span)
        for number, part in enumerate(_parts.decode(item.output)):
            if part.type == "input_text":
                yield _output(item, text_or_none(part.text), partial(places.text, number))


def _output(item: _Item, text: str, locate: Callable[[], Span]) -> Message:
    return Message(
        Role.TOOL, Content(text), rewritable=True, locate=locate, call_id=item.call_id or ""
    )


class _Parts:
    """Where the parts of one output lie. It is walked once, for the first text that changes."""

    def __init__(self, body: bytes, span: Span) -> None:
        self._body = body
        self._span = span

    def text(self, number: int) -> Span:
        """The string literal of a part's text; UnparseableError, KeyError, IndexError."""
        return members(self._body, self._spans[number])["text"].value

    @cached_property
    def _spans(self) -> list[Span]:
        return elements_in(self._body, self._span, "output")


def _text(content: Raw) -> str:
    head = opening(content)
    if head == STRING:
        return text_of(content)
    if head != ARRAY:
        return ""
    return "".join(
        text_or_none(part.text) for part in _parts.decode(content) if part.type in _TEXTS
    )
