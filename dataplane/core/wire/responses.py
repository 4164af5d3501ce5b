"""OpenAI Responses: from body bytes to messages (03-proxy-and-recovery.md 2.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial

import msgspec
from msgspec import Raw

from dataplane.core.text.content import Content
from dataplane.core.wire.calls import Calls, ToolCall, answered, caller_of, name_of
from dataplane.core.wire.message import Message, Role
from dataplane.core.wire.pieces import NOTHING, text_of, text_or_none
from dataplane.core.wire.spans import ARRAY, STRING, Span, elements_in, members, opening

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
# The second is its earlier name, the third what Codex has for one that it keeps by itself.
_SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})
_TAKES = frozenset({"function_call", "custom_tool_call"})


# Programs that write every member they know write null for those that have no value.
class _Part(msgspec.Struct):
    type: str = ""
    text: Raw = NOTHING


class _Item(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    content: Raw = NOTHING
    output: Raw = NOTHING
    call_id: str | None = None
    name: Raw = NOTHING
    arguments: Raw = NOTHING
    input: Raw = NOTHING
    caller: Raw = NOTHING


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


def messages_of(body: bytes, span: Span, calls: Calls) -> list[Message]:
    """The normalised messages of one input item; raises msgspec errors when it has no shape.

    A tool output is one tool message, or one per text part where it is a list, and one without
    text where there is no text in it. Items that are neither outputs nor messages are never
    interpreted; each counts as one message without text. calls: those of the items before, to
    which its own is added.
    """
    item = _item.decode(memoryview(body)[span.start : span.end])
    if item.type in OUTPUTS:
        found = list(_outputs(body, span, item)) or [
            Message(Role.TOOL, Content(""), rewritable=not _has_parts(item))
        ]
        for message in found:
            message.call_id = item.call_id or ""
            message.call = answered(calls, message.call_id, item.caller)
        return found
    if item.type in _TAKES and item.call_id:
        taken = item.arguments if item.type == "function_call" else item.input
        calls[item.call_id] = ToolCall(name_of(item.name), taken, caller_of(item.caller))
    if item.type in {None, "", "message"}:
        return [Message(_ROLES.get(item.role or "", Role.USER), Content(_text(item.content)))]
    return [Message(Role.ASSISTANT, Content(""), sums_up=item.type in _SUMMARIES)]


def _outputs(body: bytes, span: Span, item: _Item) -> Iterator[Message]:
    head = opening(item.output)
    if head == STRING:
        text = text_of(item.output)
        yield _output(text, lambda: members(body, span)["output"].value)
    elif head == ARRAY:
        places = _Parts(body, span)
        for number, part in enumerate(_parts.decode(item.output)):
            if part.type == "input_text":
                yield _output(text_or_none(part.text), partial(places.text, number))


def _has_parts(item: _Item) -> bool:
    return opening(item.output) == ARRAY and bool(_parts.decode(item.output))


def _output(text: str, locate: Callable[[], Span]) -> Message:
    return Message(Role.TOOL, Content(text), rewritable=True, locate=locate)


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
