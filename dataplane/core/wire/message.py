"""The provider-neutral view of a request: messages with the place each text came from.

Components see only messages; codecs build them and turn changed texts back into byte edits.
Source: 01-components.md 1.1 and 1.9; 03-proxy-and-recovery.md 2.7.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from dataplane.core.text.content import Content
from dataplane.core.wire.calls import NOBODYS, ToolCall
from dataplane.core.wire.spans import Member, Span
from dataplane.core.wire.stored_state import HISTORY
from dataplane.core.wire.tool_choice import AUTO, ToolChoice


class Role(enum.StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Dialect(enum.StrEnum):
    """The wire format of a route; decided by the path, never guessed from the body."""

    ANTHROPIC = "anthropic"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "responses"

    @property
    def family(self) -> str:
        """The name under which a tenant chooses its upstream."""
        return "anthropic" if self is Dialect.ANTHROPIC else "openai"

    @property
    def list_name(self) -> str:
        """The top-level member that holds the conversation."""
        return "input" if self is Dialect.OPENAI_RESPONSES else "messages"


@dataclass(slots=True)
class Message:
    """One normalised message.

    content: its text, text blocks joined without a separator. rewritable: every block is text.
    locate: the byte span of the JSON value that holds the text, or None for a message whose
    text is never rewritten; asked only when the text changes. call_id: which tool call a tool
    output answers, and call: what is known of that one. sums_up: it stands, sealed by the provider,
    for what came before.
    """

    role: Role
    content: Content
    rewritable: bool = False
    locate: Callable[[], Span] | None = None
    call_id: str = ""
    call: ToolCall = NOBODYS
    sums_up: bool = False


@dataclass(slots=True)
class Conversation:
    """One decoded request body.

    members: top-level members by name. elements: spans of the body's own messages (several
    normalised messages may come from one). tool_names: names declared in `tools`, "" for an
    entry without one. tool_choice: which of them the model may call. marks: cache breakpoints.
    offers_1h: some breakpoint asks for an hour.
    """

    dialect: Dialect
    body: bytes
    members: dict[str, Member]
    elements: list[Span]
    messages: list[Message]
    model: str = ""
    streams: bool = False
    tool_names: list[str] = field(default_factory=list)
    tool_choice: ToolChoice = AUTO
    marks: int = 0
    offers_1h: bool = False
    _said: dict[bytes, bool] = field(default_factory=dict, repr=False, compare=False)

    def says(self, word: bytes) -> bool:
        """Whether the word stands anywhere in the body, which is looked through once for it."""
        found = self._said.get(word)
        if found is None:
            found = self._said[word] = word in self.body
        return found

    @property
    def has_server_history(self) -> bool:
        """The request continues what the provider stored: only a part of it is here."""
        return self.dialect is Dialect.OPENAI_RESPONSES and any(
            self.value(name) not in {None, b"null"} for name in HISTORY
        )

    def value(self, name: str) -> bytes | None:
        """The exact bytes of a top-level member's value, None when it is absent."""
        member = self.members.get(name)
        return None if member is None else self.body[member.value.start : member.value.end]
