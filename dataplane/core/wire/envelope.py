"""Edits outside the messages: a tool declaration, and the split of a volatile system prompt.

Source: 03-proxy-and-recovery.md 4.2; 01-components.md 2.18.
"""

from __future__ import annotations

import msgspec

from dataplane.core.components.cachesplit import split_point
from dataplane.core.expand.tool import Declared
from dataplane.core.wire import marks
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.spans import ARRAY, STRING, Member, Span, elements, members, outline
from dataplane.core.wire.splice import Edit, add_member, append_to_array, splice, string_literal
from dataplane.core.wire.tool_choice import tool_choice_of


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
            edits.append(Edit(_with_comma(top, "tools"), b""))
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


def split_volatile_tail(conversation: Conversation) -> Edit | None:
    """Cut the first system block that ends in per-turn facts into a stable and a volatile block.

    The two texts concatenate to the original; breakpoints stay on the stable half alone. None
    when no block qualifies.
    """
    system = conversation.members.get("system")
    body = conversation.body
    if system is None or body[system.value.start] != ARRAY:
        return None
    for block in elements(body, system.value):
        parts = members(body, block)
        text = _text(body, parts)
        cut = split_point(text) if text is not None else None
        if text is not None and cut is not None and not all(mark in parts for mark in marks.NAMES):
            return Edit(block, _halves(body, block, parts, (text[:cut], text[cut:])))
    return None


def _text(body: bytes, parts: dict[str, Member]) -> str | None:
    literal = parts.get("text")
    if literal is None or body[literal.value.start] != STRING:
        return None
    text = msgspec.json.decode(memoryview(body)[literal.value.start : literal.value.end])
    return text if isinstance(text, str) else None


def _halves(body: bytes, block: Span, parts: dict[str, Member], texts: tuple[str, str]) -> bytes:
    def rewritten(edits: list[Edit]) -> bytes:
        shifted = [Edit(_shift(edit.span, -block.start), edit.replacement) for edit in edits]
        return splice(body[block.start : block.end], shifted)

    literal = parts["text"].value
    stable = rewritten([Edit(literal, string_literal(texts[0]))])
    unmarked = [Edit(_with_comma(parts, name), b"") for name in marks.NAMES if name in parts]
    return stable + b"," + rewritten([Edit(literal, string_literal(texts[1])), *unmarked])


def _shift(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)


def _with_comma(parts: dict[str, Member], name: str) -> Span:
    """The span of a member together with the comma that its removal makes superfluous."""
    names = list(parts)
    place = names.index(name)
    if place > 0:
        return Span(parts[names[place - 1]].value.end, parts[name].value.end)
    following = parts[names[1]].key.start if len(names) > 1 else parts[name].value.end
    return Span(parts[name].key.start, following)
