"""Where the texts that a run changed lie in the body (03-proxy-and-recovery.md 2.7)."""

from __future__ import annotations

from dataplane.core.pipeline.run import Run
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.pieces import text_of
from dataplane.core.wire.spans import STRING, Span, UnparseableError


def located(conversation: Conversation, state: Run) -> dict[int, Span]:
    """Where each changed text lies; a text that cannot be placed beyond doubt stays as it came."""
    spans = {}
    for index in list(state.changes):
        try:
            spans[index] = _verified(conversation, index)
        except (UnparseableError, KeyError, IndexError):
            while index in state.changes:
                state.withdraw(index)
    return spans


def _verified(conversation: Conversation, index: int) -> Span:
    message = conversation.messages[index]
    if message.locate is None:
        raise UnparseableError("no place")
    span = message.locate()
    literal = memoryview(conversation.body)[span.start : span.end]
    if literal[0] == STRING and text_of(bytes(literal)) != message.content.text:
        raise UnparseableError("another text")
    return span
