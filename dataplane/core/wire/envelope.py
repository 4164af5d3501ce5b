"""Edits outside the messages: the declaration of a tool, the model, the container.

Source: 03-proxy-and-recovery.md 4.2.
"""

from __future__ import annotations

from typing import NamedTuple

from dataplane.core.wire.message import Conversation
from dataplane.core.wire.spans import ARRAY, Member, Span, elements, members, outline
from dataplane.core.wire.splice import Edit, add_member, append_to_array, splice, string_literal
from dataplane.core.wire.tool_choice import tool_choice_of


class Declared(NamedTuple):
    """How a tool stands in a request. definition: in `tools`. entry: in a list of allowed tools,
    empty in a dialect that has none.
    """

    definition: bytes
    entry: bytes = b""


def declare_tool(conversation: Conversation, declared: Declared) -> list[Edit]:
    """Append one tool as the last of `tools`, which is created when there is none, and to the
    tools that the client lets its model call, where it lists them.
    """
    listed = conversation.tool_choice.listed
    edits = [_in_tools(conversation, declared.definition)]
    if listed is not None and declared.entry:
        edits.append(append_to_array(conversation.body, listed, [declared.entry]))
    return edits


def _in_tools(conversation: Conversation, definition: bytes) -> Edit:
    tools = conversation.members.get("tools")
    if tools is None:
        return add_member(conversation, "tools", b"[" + definition + b"]")
    if conversation.body[tools.value.start] != ARRAY:
        return Edit(tools.value, b"[" + definition + b"]")
    return append_to_array(conversation.body, tools.value, [definition])


def withdraw_tool(body: bytes, declared: Declared) -> bytes:
    """The body without a tool that `declare_tool` put into it. Raises UnparseableError."""
    top, readable = outline(body)
    listed = tool_choice_of(readable, top).listed
    edits = [] if listed is None else _without_last(readable, listed, declared.entry)
    tools = top.get("tools")
    if tools is not None and readable[tools.value.start] == ARRAY:
        sole = readable[tools.value.start : tools.value.end] == b"[" + declared.definition + b"]"
        if sole:
            edits.append(Edit(with_comma(top, "tools"), b""))
        else:
            edits += _without_last(readable, tools.value, declared.definition)
    return splice(body, edits)


def _without_last(body: bytes, array: Span, item: bytes) -> list[Edit]:
    spans = elements(body, array)
    if not spans or body[spans[-1].start : spans[-1].end] != item:
        return []
    start = spans[-2].end if len(spans) > 1 else spans[-1].start
    return [Edit(Span(start, spans[-1].end), b"")]


def in_container(body: bytes, named: bytes) -> bytes:
    """The body with this container id, a JSON literal; what else it asks of the container stays.

    Raises UnparseableError.
    """
    top, readable = outline(body)
    asked = top.get("container")
    if asked is None:
        start = body.index(b"{") + 1
        return splice(body, [Edit(Span(start, start), b'"container":' + named + b"," * bool(top))])
    if readable[asked.value.start : asked.value.start + 1] != b"{":
        return splice(body, [Edit(asked.value, named)])
    inside = members(readable, asked.value)
    if "id" in inside:
        return splice(body, [Edit(inside["id"].value, named)])
    start = asked.value.start + 1
    return splice(body, [Edit(Span(start, start), b'"id":' + named + b"," * bool(inside))])


def with_model(body: bytes, model: str) -> bytes:
    """The body with this model, the rest of it as it came. Raises UnparseableError."""
    top, _ = outline(body)
    literal = string_literal(model)
    named = top.get("model")
    if named is not None:
        return splice(body, [Edit(named.value, literal)])
    start = body.index(b"{") + 1
    return splice(body, [Edit(Span(start, start), b'"model":' + literal + b"," * bool(top))])


def with_comma(parts: dict[str, Member], name: str) -> Span:
    """The span of a member together with the comma that its removal makes superfluous."""
    names = list(parts)
    place = names.index(name)
    if place > 0:
        return Span(parts[names[place - 1]].value.end, parts[name].value.end)
    following = parts[names[1]].key.start if len(names) > 1 else parts[name].value.end
    return Span(parts[name].key.start, following)
