"""What became of calls of ours that the gateway did not answer: the only home of their names.

Counters, metric labels, alarms and the reference are derived from here. A tool that the client did
not declare reaches it in the first four cases and in no other; in the rest the call is taken out
of the answer, whose finish word stays as it was.
Source: 00-start-here.md 2 (rows 18, 26 to 28); 03-proxy-and-recovery.md 4.4, 4.5.
"""

from __future__ import annotations

from dataplane.core.port.signals import Event

MIXED_TURN = Event(
    "mixed_turn",
    "The turn also called a tool of the client, so it was handed over whole; the client's answer "
    "to our call is put right on its next request.",
)
CONTINUATION_REFUSED = Event(
    "continuation_refused",
    "The provider refused the request that gave an original back, for a reason that no retry "
    "mends; the round before it was handed over.",
    alert=True,
)
CONTINUATION_FAILED = Event(
    "continuation_failed",
    "The request that gave an original back got no usable answer; the round before it was "
    "handed over.",
)
ROUND_TOO_LARGE = Event(
    "round_too_large",
    "The round grew beyond what may be held back, so it passed through with the call in it.",
    alert=True,
)
REFUSAL_PASSED_ON = Event(
    "refusal_passed_on",
    "The provider could not take the request that gave an original back just then; its refusal "
    "went to the client, whose retry does the round again.",
)
CONTINUATION_CUT = Event(
    "continuation_cut",
    "The answer with the original in hand broke off after some of it had been sent.",
)
CALL_CUT = Event(
    "call_cut",
    "The provider ended the turn before it was done; the call was taken out of the answer.",
)
ANSWER_BROKE_OFF = Event(
    "answer_broke_off", "The answer broke off; the call was taken out of what had arrived."
)
ROUNDS_SPENT = Event(
    "rounds_spent",
    "The model called once more when it was not given the tool any more; the call was taken out.",
    alert=True,
)
CALL_UNANSWERABLE = Event(
    "call_unanswerable",
    "The call had no id, could not be read, or stood in one of several answers; it was taken out.",
    alert=True,
)
CALL_FETCHED = Event(
    "call_fetched",
    "The client fetched an answer that the provider had kept with the call in it; the call was "
    "taken out.",
)

HANDED_OVER = (MIXED_TURN, CONTINUATION_REFUSED, CONTINUATION_FAILED, ROUND_TOO_LARGE)
ENDINGS = (
    *HANDED_OVER,
    REFUSAL_PASSED_ON,
    CONTINUATION_CUT,
    CALL_CUT,
    ANSWER_BROKE_OFF,
    ROUNDS_SPENT,
    CALL_UNANSWERABLE,
    CALL_FETCHED,
)


def counted_as(name: str) -> str:
    """The counter of an ending."""
    return f"ending_{name}"


_RETRIED = frozenset({408, 409, 425, 429})
_FIRST_REFUSAL, _FIRST_FAULT = 400, 500


def is_for_a_retry(status: int) -> bool:
    """Whether a client sends the same request again after this status."""
    return status in _RETRIED or status >= _FIRST_FAULT


def of_refusal(status: int) -> Event:
    """What becomes of the calls when a continuation got this status and the client no refusal."""
    is_ours = status >= _FIRST_REFUSAL and not is_for_a_retry(status)
    return CONTINUATION_REFUSED if is_ours else CONTINUATION_FAILED
