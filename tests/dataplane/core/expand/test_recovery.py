"""What a request says of recovery calls that found nothing (04 §1.5, 5.3)."""

from __future__ import annotations

from collections import Counter

import pytest

from dataplane.core.effects import Found, Recall, Recalled, Scope
from dataplane.core.expand.recovery import Missed, Recovery
from dataplane.core.expand.relay import Call
from dataplane.core.tools import tool

MARKER = "c9f0f895fb98ab91"


def asked(marker_id: str, answer: Recalled) -> Recovery:
    """The recovery calls of a request that asked for one id and got this answer."""
    recovery = Recovery(Scope("ten_a", "key_a", "s1"), at=1.0)
    core = recovery.answer([Call("call_1", tool.EXPAND, marker_id)], room_bytes=1000)
    try:
        effect = next(core)
        assert isinstance(effect, Recall)
        core.send(answer)
    except StopIteration:
        pass
    return recovery


@pytest.mark.parametrize("found", [Found.LOST, Found.EXPIRED, Found.NEVER_MINTED])
def test_a_call_that_finds_nothing_is_named_with_its_marker(found: Found) -> None:
    counts = asked(MARKER, Recalled(found)).counts

    assert counts.missed == [Missed(MARKER, found.value)]
    assert counts.unresolved == Counter({found.value: 1})


def test_a_text_that_no_marker_of_ours_could_be_is_not_repeated() -> None:
    counts = asked("<script>", Recalled(Found.MALFORMED)).counts

    assert counts.missed == [Missed("", "malformed")]


def test_an_original_counts_as_given_back_once_the_provider_took_it() -> None:
    """And is kept verbatim from then on: a recovery that was withdrawn leaves no trace."""
    recovery = asked(MARKER, Recalled(Found.RESOLVED, b"text"))
    before = recovery.counts.bounces

    kept = list(recovery.taken())

    assert recovery.counts.missed == []
    assert (before, recovery.counts.bounces, recovery.counts.wasted_tokens) == (0, 1, 1)
    assert recovery.counts.given == [MARKER]
    assert [(e.marker_id, e.keep) for e in kept if isinstance(e, Recall)] == [(MARKER, True)]
    assert list(recovery.taken()) == []


def test_what_is_only_looked_up_for_a_continuation_is_not_kept_yet() -> None:
    recovery = Recovery(Scope("ten_a", "key_a", "s1"), at=1.0)

    effect = next(recovery.answer([Call("call_1", tool.EXPAND, MARKER)], room_bytes=1000))

    assert isinstance(effect, Recall)
    assert not effect.keep
