"""Continue or deliver: what a model's turn means for the loop.

Source: 03-proxy-and-recovery.md 4.4; 00-start-here.md 2 (rows 18, 28).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dataplane.core.expand import endings
from dataplane.core.expand.relay import Answer, Call, Outcome
from dataplane.core.port.signals import Event

EXPAND_ROUNDS = 3  # continuations of one client request
# The turn was ended before the model was done. A turn with a whole call is done by any other word:
# compatible providers say stop, words of their own, or nothing at all.
_NOT_DONE = frozenset(
    {
        "max_tokens",
        "length",
        "model_length",
        "model_context_window_exceeded",
        "pause_turn",
        "refusal",
        "content_filter",
        "safety",
        "error",
        "malformed_function_call",
        "insufficient_system_resource",
        # of a Responses answer
        "incomplete",
        "failed",
        "cancelled",
        "in_progress",
        "queued",
    }
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's turn. calls: of injected tools, in order. assistant: the turn as the JSON
    message that echoes it, or as the items, comma between them. answerable: no other tool was
    called, and every call of ours is whole. needs_store: its echo names what only the provider's
    own store holds. mixed: it also calls a tool that only the client can answer, and every call
    of ours is whole. container: the id, as a JSON literal, of the one that the provider wants
    named again in the next request.
    """

    calls: tuple[Call, ...]
    assistant: bytes = b""
    answerable: bool = True
    needs_store: bool = False
    mixed: bool = False
    container: bytes = b""


def reply_of(
    calls: Sequence[Call | None], assistant: bytes, *, others: bool, container: bytes = b""
) -> Reply:
    """The turn with these calls of ours. None stands for one that was cut or has no id; others:
    tools of the client were called beside them.
    """
    whole = all(call is not None for call in calls)
    return Reply(
        tuple(call for call in calls if call is not None),
        assistant,
        answerable=not calls or (whole and not others),
        mixed=bool(calls) and whole and others,
        container=container,
    )


UNREADABLE_REPLY = Reply((), answerable=False)


class HandedOver(NamedTuple):
    """Why the client gets a turn. ending: what becomes of the calls of ours in it."""

    outcome: Outcome
    ending: Event | None = None

    @property
    def whole(self) -> bool:
        """The calls of ours stay in what the client gets."""
        return self.ending is endings.MIXED_TURN


_NOTHING_OF_OURS = HandedOver(Outcome.OK)
NOT_READ_HERE = HandedOver(Outcome.BAIL, endings.CALL_UNANSWERABLE)


def handed_over_as(
    reply: Reply, *, stop_reason: str | None, continuations: int
) -> HandedOver | None:
    """Why the client gets this turn, or None when the gateway answers it.

    continuations: how many this client request has already had.
    """
    if not reply.calls and reply.answerable:
        return _NOTHING_OF_OURS
    if (stop_reason or "").lower() in _NOT_DONE:
        return HandedOver(Outcome.BAIL, endings.CALL_CUT)
    if reply.mixed:
        return HandedOver(Outcome.BAIL, endings.MIXED_TURN)
    if not reply.answerable:
        return HandedOver(Outcome.BAIL, endings.CALL_UNANSWERABLE)
    if continuations >= EXPAND_ROUNDS:
        return HandedOver(Outcome.CAP, endings.ROUNDS_SPENT)
    return None


def answered(reply: Reply, *, continuations: int) -> Answer:
    """The verdict on a turn that the gateway answers."""
    return Answer(
        reply.calls, is_last=continuations + 1 == EXPAND_ROUNDS, container=reply.container
    )
