"""A tool that the client did not declare never reaches it, and JSON says what a stream says.

One invariant over dialects, forms, rounds, finish words, broken answers and failed continuations.
Source: 00-start-here.md 2 (rows 18, 27); 03-proxy-and-recovery.md 4.4, 4.5.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.expand import endings
from dataplane.core.expand.relay import Answer
from dataplane.core.tools.tool import EXPAND, SIGN
from tests.dataplane.core.expand import scripts
from tests.dataplane.core.expand.scripts import ID, Played, Script, play
from tests.dataplane.core.expand.turns import (
    CLOSING,
    FINISHES,
    PARTS,
    WIRES,
    Chat,
    Claude,
    Turn,
    Wire,
    told,
)

FUNCTION = {"name": EXPAND, "arguments": json.dumps({"id": ID})}
WHOLE = {"id": "call_1", "type": "function", "function": FUNCTION}

turn_lists = st.lists(
    st.builds(
        Turn,
        st.lists(st.sampled_from(PARTS), max_size=4).map(tuple),
        st.sampled_from(FINISHES),
        st.integers(1, 50),
    ),
    min_size=1,
    max_size=4,
)
wires = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.dialect.value)
forms = pytest.mark.parametrize("streams", [True, False], ids=["stream", "body"])


def last_heard(played: Played, turns: list[Turn]) -> Turn:
    """The turn of the round that the client's answer ends with."""
    return [*turns, CLOSING, CLOSING][len(played.requests)]


@wires
@forms
@given(turns=turn_lists, size=st.sampled_from([1 << 20, 90]))
def test_a_call_of_ours_reaches_the_client_only_beside_one_of_its_own(
    wire: Wire, turns: list[Turn], size: int, *, streams: bool
) -> None:
    rounds = told(wire, [*turns, CLOSING], streams=streams)

    played = play(wire.relay(streams=streams), *[script.split(size) for script in rounds])

    last, ending = last_heard(played, turns), played.delivered.ending
    reaches = SIGN in played.client
    assert reaches == wire.mixes(last) == (ending is endings.MIXED_TURN)
    assert (ending is not None) == last.calls_us
    got = wire.read(played.client, streams=streams)
    assert got.finish == wire.finish_of(last)
    assert got.tools.count("bash") == last.parts.count("theirs")


@wires
@forms
@given(turns=turn_lists, share=st.floats(0, 1))
def test_nor_does_it_in_an_answer_that_breaks_off(
    wire: Wire, turns: list[Turn], share: float, *, streams: bool
) -> None:
    *before, last = told(wire, [*turns, CLOSING][:4], streams=streams)
    whole = last.body
    broken = Script([whole[: int(share * len(whole))]], cut=True)

    played = play(wire.relay(streams=streams), *before, broken)

    allowed = played.delivered.ending in endings.HANDED_OVER
    assert allowed or SIGN not in played.client


@wires
def test_nor_wherever_the_stream_of_a_later_round_is_cut(wire: Wire) -> None:
    """Also behind a bracket that could be the last one, but is not."""
    *before, last = told(wire, [Turn(("ours",)), CLOSING], streams=True)

    for cut in range(len(last.body)):
        played = play(wire.relay(streams=True), *before, Script([last.body[:cut]], cut=True))

        allowed = played.delivered.ending in endings.HANDED_OVER
        assert allowed or SIGN not in played.client, last.body[:cut]


@wires
@forms
@given(turns=turn_lists)
def test_nor_where_a_continuation_fails_but_for_the_round_before_it(
    wire: Wire, turns: list[Turn], *, streams: bool
) -> None:
    rounds = told(wire, turns, streams=streams)

    played = play(wire.relay(streams=streams), *rounds, None)

    reaches = SIGN in played.client
    assert reaches == (played.delivered.ending in endings.HANDED_OVER)


@wires
@given(turns=turn_lists)
def test_a_body_says_what_the_stream_of_the_same_rounds_would_have_said(
    wire: Wire, turns: list[Turn]
) -> None:
    """Content of all rounds in their order, the finish word and the usage of the last."""

    def heard(*, streams: bool) -> object:
        rounds = told(wire, [*turns, CLOSING], streams=streams)
        played = play(wire.relay(streams=streams), *rounds)
        return wire.read(played.client, streams=streams), played.delivered.ending

    assert heard(streams=False) == heard(streams=True)


@pytest.mark.parametrize(
    ("member", "pieces", "echoed"),
    [
        ("reasoning_content", ["a", "b"], "ab"),
        ("reasoning_content", [""], ""),
        ("reasoning_details", [[{"data": 1}], [{"data": 2}]], [{"data": 1}, {"data": 2}]),
        ("annotations", [[{"url": "u"}]], [{"url": "u"}]),
        ("refusal", ["no"], "no"),
        ("audio", [{"id": "audio_1"}, {"transcript": "hm"}], {"id": "audio_1"}),
        ("of_next_year", [{"a": 1.50}], {"a": 1.5}),
    ],
)
def test_whatever_a_completion_says_beside_its_text_is_said_back(
    member: str, pieces: list[object], echoed: object
) -> None:
    """Providers refuse the next request without their own reasoning, signatures or details."""
    call = scripts.call_chunks(0)
    first = scripts.openai(
        *(scripts.delta(**{member: piece}) for piece in pieces), call, reason="tool_calls"
    )

    played = play(Chat().relay(streams=True), first, Chat().stream(CLOSING, 2))

    assert json.loads(played.requests[0][0])[member] == echoed


@pytest.mark.parametrize("said", [None, []])
def test_what_says_nothing_is_not_said_back(said: object) -> None:
    """Strict providers refuse members that they wrote themselves when these are empty."""
    message = {"content": "a", "refusal": said, "annotations": said, "tool_calls": [WHOLE]}
    body = scripts.compact({"choices": [{"message": message, "finish_reason": "stop"}]})

    played = play(Chat().relay(streams=False), Script([body]), Chat().body(CLOSING, 2))

    assert set(json.loads(played.requests[0][0])) == {"role", "content", "tool_calls"}


@pytest.mark.parametrize("place", ["message_start", "message_delta"])
def test_a_stream_that_opens_a_container_has_it_named_in_the_continuation(place: str) -> None:
    opened = b'"container":{"id":"container_1","expires_at":null},"stop_'
    body = Claude().stream(Turn(("ours",)), 1).body
    head, sign, rest = body.partition(b"event: " + place.encode())
    relay = Claude().relay(streams=True)
    relay.feed(head + sign + rest.replace(b'"stop_', opened, 1))

    verdict = relay.end_round(complete=True)

    assert isinstance(verdict, Answer)
    assert verdict.container == b'"container_1"'
