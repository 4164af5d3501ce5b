"""Continue or deliver: what a model's turn means for the loop.

Source: 03-proxy-and-recovery.md 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from dataplane.core.expand.relay import Answer, Call, Outcome

EXPAND_ROUNDS = 3  # continuations of one client request
# A Responses turn states no reason: completed, its calls are its reason.
_TOOL_USE = frozenset({"tool_use", "tool_calls", "completed"})


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's turn. calls: of injected tools, in order. assistant: the turn as the JSON
    message that echoes it, or as the items, comma between them. answerable: no other tool was
    called, and the turn could be read. needs_store: its echo names what only the provider's own
    store holds. mixed: it also calls a tool that only the client can answer.
    """

    calls: tuple[Call, ...]
    assistant: bytes = b""
    answerable: bool = True
    needs_store: bool = False
    mixed: bool = False


UNREADABLE_REPLY = Reply((), answerable=False)


def handed_over_as(reply: Reply, *, stop_reason: str | None, continuations: int) -> Outcome | None:
    """Why the client gets this turn, or None when the gateway answers it.

    continuations: how many this client request has already had.
    """
    if not reply.answerable:
        return Outcome.BAIL
    if not reply.calls:
        return Outcome.OK
    if stop_reason not in _TOOL_USE:
        return Outcome.BAIL
    return Outcome.CAP if continuations >= EXPAND_ROUNDS else None


def answered(reply: Reply, *, continuations: int) -> Answer:
    """The verdict on a turn that the gateway answers."""
    return Answer(reply.calls, is_last=continuations + 1 == EXPAND_ROUNDS)
