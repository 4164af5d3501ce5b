"""The bytes of a ping, and what its answer means. Source: 03-proxy-and-recovery.md 7.3."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from dataplane.core.wire.spans import Member, Span
from dataplane.core.wire.splice import Edit, splice
from dataplane.core.wire.usage import Usage

_FIRST_REFUSAL, _FIRST_FAULT = 400, 500
_SUCCESS = range(200, 300)


def ping_body(body: bytes, top: Mapping[str, Member]) -> bytes:
    """The body that was sent last, for an answer of one token in one piece. top: its members.

    Neither of the two that change is part of the prefix that the provider has cached.
    """
    edits = []
    if "max_tokens" in top:
        edits.append(Edit(top["max_tokens"].value, b"1"))
    else:
        start = body.index(b"{") + 1
        edits.append(Edit(Span(start, start), b'"max_tokens":1' + b"," * bool(top)))
    if "stream" in top:
        edits.append(Edit(top["stream"].value, b"false"))
    return splice(body, edits)


class Outcome(enum.Enum):
    """How a ping ended: only READ has kept anything alive."""

    READ = "read"
    WROTE = "wrote"
    REFUSED = "refused"
    FAILED = "failed"


def outcome_of(status: int, usage: Usage | None) -> Outcome:
    """usage: None where the answer did not say. An answer that touched no cache has failed."""
    if _FIRST_REFUSAL <= status < _FIRST_FAULT:
        return Outcome.REFUSED
    if status not in _SUCCESS or usage is None:
        return Outcome.FAILED
    if usage.cache_write > usage.cache_read:
        return Outcome.WROTE
    return Outcome.READ if usage.cache_read else Outcome.FAILED
