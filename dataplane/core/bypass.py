"""When a request is forwarded as it came, and by which name (03-proxy-and-recovery.md 2.3)."""

from __future__ import annotations

import msgspec

from dataplane.core.port.signals import Gate
from dataplane.core.wire.message import Conversation, Role
from dataplane.core.wire.spans import Span

HEADER = Gate("header", "The request asked for it with x-context-guru-bypass.")
KILL_SWITCH = Gate("kill_switch", "The operator's kill switch is on.")
AGENT_COMPACTION = Gate("agent_compaction", "The agent is summarising its own conversation.")
ENCODED_REQUEST = Gate("encoded_request", "The request body is compressed.")
SERVER_HISTORY = Gate("server_history", "The provider holds the conversation's history.")
UNPARSEABLE = Gate("unparseable", "The body is not JSON that can be edited safely.")
NO_MESSAGES = Gate("no_messages", "The body holds no message list.")
OBSERVE = Gate("observe", "The tenant's mode is observe: requests are never shaped.")
REWRITE_FAILED = Gate("rewrite_failed", "A fault of ours; the original body was sent.")
PRISTINE_RESENT = Gate(
    "pristine_resent", "The provider refused the shaped body; the original one was sent after it."
)
GATES = (
    HEADER,
    KILL_SWITCH,
    AGENT_COMPACTION,
    ENCODED_REQUEST,
    SERVER_HISTORY,
    UNPARSEABLE,
    NO_MESSAGES,
    OBSERVE,
    REWRITE_FAILED,
    PRISTINE_RESENT,
)

_LEAPS = 64
# Each begins with a capital, which a search leaps to: _stands_in.
_SUMMARY_PROMPTS = (
    "Your task is to create a detailed summary of the ",
    "First, reason in your scratchpad. Then, generate the ",
)


def is_agent_compaction(conversation: Conversation) -> bool:
    """True when the agent asks for its summary: in the last message's own text, nowhere else.

    A tool result that quotes such a prompt is not one, so an old summary request in the
    history, or a file that contains the sentence, does not switch compaction off.
    """
    compaction = conversation.value("compaction")
    if compaction is not None and compaction.startswith(b"{"):
        return True
    last = conversation.messages[-1] if conversation.messages else None
    if last is None:
        return False
    if last.role is Role.USER:
        return _asks(last.content.text)
    return last.role is Role.TOOL and any(
        map(_asks, _texts_beside_results(conversation.body, conversation.elements[-1]))
    )


def _asks(text: str) -> bool:
    first, second = _SUMMARY_PROMPTS
    return _stands_in(text, first) or _stands_in(text, second)


def _stands_in(text: str, prompt: str) -> bool:
    """By its first letter, which a search leaps to; where that is everywhere, letter by letter."""
    at = -1
    for _ in range(_LEAPS):
        at = text.find(prompt[0], at + 1)
        if at < 0:
            return False
        if text.startswith(prompt, at):
            return True
    return text.find(prompt, at + 1) >= 0


class _Part(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct):
    role: str
    content: list[_Part]


_message = msgspec.json.Decoder(_Message)


def _texts_beside_results(body: bytes, span: Span) -> list[str]:
    """The text blocks of a user message that also answers tool calls; agents merge the two."""
    if not any(
        body.find(prompt.encode(), span.start, span.end) >= 0 for prompt in _SUMMARY_PROMPTS
    ):
        return []
    try:
        message = _message.decode(memoryview(body)[span.start : span.end])
    except msgspec.MsgspecError:
        return []
    if message.role != "user":
        return []
    return [part.text for part in message.content if part.type == "text"]
