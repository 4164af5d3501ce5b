"""The splice of OpenAI chat streams (03 §2.10, 4.5, 10.6 (90), 10.7 (105, 106))."""

from __future__ import annotations

import json

import pytest

from dataplane.core.expand.relay import Call
from dataplane.core.tools.tool import EXPAND
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import Reading, Usage
from tests.dataplane.core.expand.scripts import (
    DONE,
    ID,
    ORIGINAL,
    ROLE,
    Script,
    call_chunks,
    chunk,
    data_of,
    delta,
    finish,
    openai,
    play,
    stream_relay,
)

CHAT = Dialect.OPENAI_CHAT
FIRST = openai(delta(content="Let me look ✓."), call_chunks(0), reason="tool_calls")


def as_other(script: Script) -> Script:
    """The same response under the names of another completion."""
    body = script.body.replace(b"chatcmpl-1", b"chatcmpl-2").replace(b"1700000000", b"1700000009")
    return Script([body.replace(b"gpt-a", b"gpt-a-2")], script.cut)


SECOND = as_other(openai(delta(content="It says ✓."), prompt_tokens=200))


def test_105_two_rounds_are_one_completion_for_the_client() -> None:
    played = play(stream_relay(CHAT), FIRST, SECOND)

    assert played.client == (
        ROLE
        + delta(content="Let me look ✓.")
        + delta(content="It says ✓.")
        + finish("stop", prompt_tokens=200)
    )
    assert played.outcome == "ok"
    assert not played.relay.buffered


def test_105_the_continuation_echoes_the_turn_and_gives_the_exact_original() -> None:
    played = play(stream_relay(CHAT), FIRST, SECOND)

    assert played.calls == [(Call("call_1", EXPAND, ID),)]
    function = {"name": EXPAND, "arguments": f'{{"id":"{ID}"}}'}
    assert played.appended() == [
        [
            {
                "role": "assistant",
                "content": "Let me look ✓.",
                "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": ORIGINAL},
        ]
    ]


def test_105_every_round_is_billed() -> None:
    played = play(stream_relay(CHAT), FIRST, SECOND)

    assert [round_.usage for round_ in played.relay.usage] == [
        Usage(fresh_input=90, output=3),
        Usage(fresh_input=200, output=3),
    ]
    assert played.relay.stop_reason == "stop"


def test_105_a_later_round_has_no_second_role_even_beside_content() -> None:
    second = as_other(openai(delta(role="assistant", content="Hi"), delta(content=" you")))

    played = play(stream_relay(CHAT), FIRST, second)

    assert played.client.count(b'"role"') == 1
    contents = [value["choices"] for value in data_of(played.client)]
    assert [{"index": 0, "finish_reason": None, "delta": {"content": "Hi"}}] in contents


def test_105_a_stream_that_opens_with_the_call_waits_and_says_so() -> None:
    first = openai(call_chunks(0), reason="tool_calls")

    played = play(stream_relay(CHAT), first, SECOND)

    assert played.relay.buffered
    assert played.client.startswith(ROLE + delta(content="It says ✓."))


@pytest.mark.parametrize("framing", ["lf", "crlf"])
def test_103_the_client_gets_the_same_bytes_wherever_the_network_cut_them(framing: str) -> None:
    first, second = (FIRST, SECOND) if framing == "lf" else (FIRST.with_crlf(), SECOND.with_crlf())
    expected = play(stream_relay(CHAT), first, second).client

    assert play(stream_relay(CHAT), first.split(1), second.split(1)).client == expected
    for size in range(2, 200, 7):
        played = play(stream_relay(CHAT), first.split(size), second.split(size))
        assert played.client == expected


def test_106_a_text_without_usage_is_byte_identical_and_its_usage_unknown() -> None:
    script = Script([ROLE, delta(content="Hello"), chunk({"delta": {}, "finish_reason": "stop"})])

    played = play(stream_relay(CHAT), Script([*script.chunks, DONE]))

    assert played.client == script.body + DONE
    assert played.relay.usage[0].reading is Reading.ABSENT


def test_90_two_calls_are_answered_by_two_tool_messages() -> None:
    first = openai(
        call_chunks(0), call_chunks(1, '{"id":"x"}', call_id="call_2"), reason="tool_calls"
    )

    played = play(stream_relay(CHAT), first, SECOND)

    assert played.calls == [(Call("call_1", EXPAND, ID), Call("call_2", EXPAND, "x"))]
    answered = [json.loads(message).get("tool_call_id") for message in played.requests[0]]
    assert answered == [None, "call_1", "call_2"]


def test_90_of_several_choices_each_loses_its_call() -> None:
    other = chunk({"index": 1, "delta": {"content": "b"}})
    script = openai(other, call_chunks(0), reason="tool_calls")

    played = play(stream_relay(CHAT), script)

    assert played.client == openai(other, reason="tool_calls").body
    assert played.outcome == "bail"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            openai(
                call_chunks(0),
                call_chunks(1, "{}", name="bash", call_id="call_2"),
                reason="tool_calls",
            ),
            id="98-other-tool-after",
        ),
        pytest.param(
            openai(
                call_chunks(0, "{}", name="bash"),
                call_chunks(1, call_id="call_2"),
                reason="tool_calls",
            ),
            id="98-other-tool-before",
        ),
    ],
)
def test_98_a_turn_that_also_calls_the_clients_tool_is_handed_over_whole(script: Script) -> None:
    played = play(stream_relay(CHAT), script)

    assert played.client == script.body
    assert played.outcome == "bail"
    assert played.relay.expand_after_stream


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        pytest.param(call_chunks(0, '{"id":'), "length", id="87-length"),
        pytest.param(call_chunks(0), "content_filter", id="87-filtered"),
        pytest.param(call_chunks(0, '{"id":'), "tool_calls", id="87-cut-arguments"),
        pytest.param(call_chunks(0, call_id=""), "tool_calls", id="87-no-call-id"),
    ],
)
def test_87_a_call_that_cannot_be_answered_is_taken_out_and_the_finish_word_stays(
    call: bytes, reason: str
) -> None:
    played = play(stream_relay(CHAT), openai(call, delta(content="so"), reason=reason))

    assert played.client == openai(delta(content="so"), reason=reason).body
    assert played.outcome == "bail"


def test_a_cut_turn_keeps_the_clients_call_under_the_next_free_index() -> None:
    bash = call_chunks(1, '{"cm', name="bash", call_id="call_2")

    played = play(stream_relay(CHAT), openai(call_chunks(0), bash, reason="length"))

    expected = openai(call_chunks(0, '{"cm', name="bash", call_id="call_2"), reason="length")
    assert list(data_of(played.client)) == list(data_of(expected.body))


def compat(*calls: object, **choice: object) -> bytes:
    return chunk({"delta": {"tool_calls": list(calls)}, **choice})


ASKED = {"id": "call_1", "type": "function"}
WHOLE = {**ASKED, "function": {"name": EXPAND, "arguments": f'{{"id":"{ID}"}}'}}
OTHERS = {**WHOLE, "id": "call_2"}
STOPS = chunk({"delta": {}, "finish_reason": "stop"})


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        pytest.param([ROLE, call_chunks(0), STOPS, DONE], 1, id="ends with stop"),
        pytest.param([ROLE, compat(WHOLE), DONE], 1, id="no finish chunk"),
        pytest.param([ROLE, compat(WHOLE)], 1, id="neither finish chunk nor [DONE]"),
        pytest.param([ROLE, compat(WHOLE, finish_reason="STOP")], 1, id="all in one chunk"),
        pytest.param([ROLE, compat(WHOLE), compat(OTHERS), STOPS], 2, id="no index, twice"),
        pytest.param(
            [ROLE, compat({**WHOLE, "index": 0}), compat({**OTHERS, "index": 0}), STOPS],
            2,
            id="one index for two",
        ),
        pytest.param(
            [ROLE, compat({**ASKED, "function": {}}), compat({"function": WHOLE["function"]})],
            1,
            id="name comes later",
        ),
    ],
)
def test_n_03_a_whole_call_is_answered_however_a_compatible_provider_spells_it(
    script: list[bytes], asked: int
) -> None:
    played = play(stream_relay(CHAT), Script(script), SECOND)

    assert EXPAND.encode() not in played.client
    assert [len(calls) for calls in played.calls] == [asked]
    assert played.client == ROLE + delta(content="It says ✓.") + finish("stop", prompt_tokens=200)


def test_99_a_refused_continuation_gives_back_what_was_withheld() -> None:
    played = play(stream_relay(CHAT), FIRST, None)

    assert played.client == FIRST.body
    assert played.outcome == "next_failed"


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(Script([], cut=True), id="99-no-byte"),
        pytest.param(as_other(Script([ROLE], cut=True)), id="99-role-only"),
        pytest.param(
            Script([b'data: {"error":{"message":"m","type":"server_error"}}\n\n', DONE]),
            id="99-error-chunk",
        ),
        pytest.param(
            Script([b'data: {"error":{"message":"m"}}\n\n', delta(content="x"), DONE]),
            id="99-error-chunk-first",
        ),
    ],
)
def test_99_a_continuation_without_content_counts_as_refused(second: Script) -> None:
    played = play(stream_relay(CHAT), FIRST, second)

    assert played.client == FIRST.body
    assert played.outcome == "next_failed"


def test_100_a_continuation_cut_after_its_finish_reason_is_not_taken_for_a_refused_one() -> None:
    second = as_other(Script([ROLE, chunk({"delta": {}, "finish_reason": "stop"})], cut=True))

    played = play(stream_relay(CHAT), FIRST, second)

    assert EXPAND.encode() not in played.client
    assert played.outcome == "next_cut"


def test_100_a_continuation_cut_in_its_content_is_closed_without_done() -> None:
    second = as_other(Script([ROLE, delta(content="It")], cut=True))

    played = play(stream_relay(CHAT), FIRST, second)

    assert played.client == ROLE + delta(content="Let me look ✓.") + delta(content="It")
    assert played.outcome == "next_cut"


@pytest.mark.parametrize("interceptable", [True, False])
def test_101_a_stream_that_breaks_off_is_closed_without_done(*, interceptable: bool) -> None:
    script = Script([ROLE, delta(content="Hal"), b'data: {"cho'], cut=True)

    played = play(stream_relay(CHAT, interceptable=interceptable), script)

    assert played.client == script.body
    assert played.outcome == "truncated"


@pytest.mark.parametrize("interceptable", [True, False])
def test_a_stream_that_ends_by_its_finish_reason_alone_is_complete(*, interceptable: bool) -> None:
    script = Script([ROLE, chunk({"delta": {"content": "Hi"}, "finish_reason": "stop"})])

    played = play(stream_relay(CHAT, interceptable=interceptable), script)

    assert (played.client, played.outcome) == (script.body, "ok")


@pytest.mark.parametrize("interceptable", [True, False])
def test_w_06_control_frames_are_relayed_and_never_taken_for_payload(
    *, interceptable: bool
) -> None:
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    script = Script(
        [
            b": PROCESSING\n\nretry: 3000\n\ndata:\n\n",
            ROLE,
            b": ping\n" + delta(content="Fine."),
            chunk({"delta": {}, "finish_reason": "stop"}),
            chunk(None, usage=usage),
            DONE,
        ]
    )

    played = play(stream_relay(CHAT, interceptable=interceptable), script)

    assert played.client == script.body
    assert played.relay.usage[0].usage == Usage(fresh_input=26, cache_read=64, output=3)
    assert played.relay.usage[0].reading is Reading.READ


def test_w_30_usage_on_the_finish_chunk_is_not_erased_by_a_later_null() -> None:
    usage = {
        "prompt_tokens": 287,
        "completion_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 256},
    }
    script = Script(
        [
            ROLE,
            chunk({"delta": {"content": "Done"}, "finish_reason": "length"}, usage=usage),
            chunk({"delta": {}}, usage=None),
            DONE,
        ]
    )

    played = play(stream_relay(CHAT), script)

    assert played.client == script.body
    assert played.relay.usage[0].usage == Usage(fresh_input=31, cache_read=256, output=8)
    assert played.relay.stop_reason == "length"


def test_framing_and_unknown_members_of_a_renamed_chunk_stay_as_they_came() -> None:
    odd = (
        b'id: 4\r\ndata:{ "id":"chatcmpl-2" , "x" : [1.0,\t"id"], "choices":[{"index":0, '
        b'"delta":{ "content":"a" }}] }\r\n\r\n'
    )

    played = play(stream_relay(CHAT), FIRST, Script([odd, finish("stop")]))

    assert odd.replace(b"chatcmpl-2", b"chatcmpl-1") in played.client


def test_a_chunk_spread_over_several_data_lines_is_renamed_too() -> None:
    odd = b'data: {"id":"chatcmpl-2",\ndata: "choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'

    played = play(stream_relay(CHAT), FIRST, Script([odd, finish("stop")]))

    assert odd.replace(b"chatcmpl-2", b"chatcmpl-1") in played.client


def test_what_is_not_a_chunk_is_forwarded_in_every_round() -> None:
    strange = b'data: not json\n\ndata: {"choices":"none"}\n\ndata: []\n\n'

    played = play(
        stream_relay(CHAT),
        Script([ROLE, strange, call_chunks(0), finish("tool_calls")]),
        Script([strange, *SECOND.chunks]),
    )

    assert played.client.count(strange) == 1
