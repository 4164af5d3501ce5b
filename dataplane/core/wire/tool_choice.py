"""Which tools a request lets the model call, and how ours joins a list of allowed ones.

Source: 03-proxy-and-recovery.md 4.2; 00-start-here.md 2 (row 28).
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import msgspec

from dataplane.core.wire.spans import ARRAY, Member, Span, UnparseableError, elements, members


class Choice(enum.Enum):
    """What `tool_choice` says of the model's freedom."""

    AUTO = "auto"
    NONE = "none"
    ANY = "any"  # some tool must be called, whichever
    NAMED = "named"
    ALLOWED = "allowed"  # a list of tools, whether one must be called or not
    OTHER = "other"  # a form that is not known here


class ToolChoice(NamedTuple):
    """names: of the tools that it speaks of. listed: where the list of allowed tools stands."""

    choice: Choice = Choice.AUTO
    names: tuple[str, ...] = ()
    listed: Span | None = None

    def lets_call(self, name: str) -> bool:
        """Whether the model may call a declared tool of this name.

        A list of allowed tools is one that ours can be added to.
        """
        if self.choice is Choice.ALLOWED:
            return self.listed is not None
        return self.choice is Choice.AUTO or self.choice is Choice.ANY or name in self.names


AUTO = ToolChoice()
_WORDS = {
    "auto": Choice.AUTO,
    "none": Choice.NONE,
    "any": Choice.ANY,
    "required": Choice.ANY,
    "tool": Choice.NAMED,
    "function": Choice.NAMED,
    "custom": Choice.NAMED,
    "allowed_tools": Choice.ALLOWED,
}
_ALLOWED = "allowed_tools"  # in the chat dialect also the member that holds mode and list


def tool_choice_of(body: bytes, top: dict[str, Member]) -> ToolChoice:
    """The choice of a body with these top-level members."""
    member = top.get("tool_choice")
    value = None if member is None else _decoded(body, member.value)
    if member is None or value is None:
        return AUTO
    word = value.get("type") if isinstance(value, dict) else value
    choice = _WORDS.get(word, Choice.OTHER) if isinstance(word, str) else Choice.OTHER
    if choice is Choice.ALLOWED:
        return _allowed(body, member.value)
    if choice is Choice.NAMED:
        return ToolChoice(choice, (name_of(value),))
    return ToolChoice(choice)


def name_of(tool: Any) -> str:
    """The name of a tool, or of an entry that stands for one; "" for one without."""
    if not isinstance(tool, dict):
        return ""
    inner = next((tool[k] for k in ("function", "custom") if isinstance(tool.get(k), dict)), tool)
    name = inner.get("name")
    return name if isinstance(name, str) else ""


def _allowed(body: bytes, place: Span) -> ToolChoice:
    try:
        parts = members(body, place)
        if _ALLOWED in parts:
            parts = members(body, parts[_ALLOWED].value)
        listed = parts["tools"].value
        if body[listed.start] != ARRAY:
            return ToolChoice(Choice.ALLOWED)
        names = tuple(name_of(_decoded(body, span)) for span in elements(body, listed))
    except (UnparseableError, KeyError):
        return ToolChoice(Choice.ALLOWED)
    return ToolChoice(Choice.ALLOWED, names, listed)


def _decoded(body: bytes, span: Span) -> Any:
    try:
        return msgspec.json.decode(memoryview(body)[span.start : span.end])
    except (msgspec.DecodeError, RecursionError):
        return None
