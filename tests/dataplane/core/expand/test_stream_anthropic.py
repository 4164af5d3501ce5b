"""The splice of Anthropic streams (03 §4.4, 4.5, 10.6 and 10.7)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.expand.relay import Answer, Call
from dataplane.core.tools.tool import ADJUDICATE, EXPAND
from dataplane.core.wire.usage import Reading, RoundUsage, Usage
from tests.dataplane.core.expand.scripts import (
    ID,
    ORIGINAL,
    Script,
    anthropic,
    block,
    ending,
    event,
    indices,
    kinds,
    opening,
    play,
    stream_relay,
    text,
    thinking,
    tool_use,
)

PING = event("ping")
COMMENT = b": keep-alive\n\n"
FIRST = anthropic(text(0, "Let me ", "look ✓."), tool_use(1), stop_reason="tool_use")
SECOND = anthropic(text(0, "It says ✓."), input_tokens=40)


def test_94_a_stream_without_calls_of_ours_reaches_the_client_chunk_by_chunk_unchanged() -> None:
    script = anthropic(PING, COMMENT, *[event("future_notice", k=[1, n]) for n in range(40)])

    played = play(stream_relay(), script)

    assert played.sent == [*script.chunks, b""]
    assert played.outcome == "ok"
    assert not played.relay.buffered


def test_95_two_rounds_are_one_stream_for_the_client() -> None:
    played = play(stream_relay(), FIRST, SECOND)

    assert played.client == (
        opening()
        + text(0, "Let me ", "look ✓.")
        + text(1, "It says ✓.")
        + ending("end_turn", input_tokens=40)
    )
    assert EXPAND.encode() not in played.client
    assert played.outcome == "ok"
    assert not played.relay.buffered
    assert not played.relay.expand_after_stream


def test_95_what_precedes_the_call_is_sent_before_the_call_is_answered() -> None:
    relay = stream_relay()
    sent = b"".join(relay.feed(chunk) for chunk in FIRST.chunks)

    assert isinstance(relay.end_round(complete=True), Answer)
    assert sent == opening() + text(0, "Let me ", "look ✓.")
    assert relay.first_bytes_sent


def test_78_the_continuation_echoes_the_turn_and_gives_the_exact_original() -> None:
    played = play(stream_relay(), FIRST, SECOND)

    assert played.calls == [(Call("toolu_1", EXPAND, ID),)]
    assert played.appended() == [
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look ✓."},
                    {"type": "tool_use", "id": "toolu_1", "name": EXPAND, "input": {"id": ID}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": ORIGINAL}],
            },
        ]
    ]


def test_78_every_round_is_billed() -> None:
    played = play(stream_relay(), FIRST, SECOND)

    assert played.relay.usage == [
        RoundUsage(Usage(fresh_input=12, output=9), Reading.READ),
        RoundUsage(Usage(fresh_input=40, output=9), Reading.READ),
    ]
    assert (played.relay.model, played.relay.stop_reason) == ("model-a", "end_turn")


def test_96_a_stream_that_opens_with_the_call_waits_and_says_so() -> None:
    first = Script([opening(), PING, tool_use(0), PING, ending("tool_use")])

    played = play(stream_relay(), first, SECOND)

    last = ending("end_turn", input_tokens=40)
    assert played.client == opening() + PING + PING + text(0, "It says ✓.") + last
    assert played.relay.buffered


def test_97_thinking_keeps_its_signature_on_both_sides() -> None:
    first = anthropic(
        thinking(0, "Hm, \\u2713 “é”", "c2ln+/=="), tool_use(1), stop_reason="tool_use"
    )
    second = anthropic(thinking(0, "So", "c2lnMg=="), text(1, "Done."))

    played = play(stream_relay(), first, second)

    assert indices(played.client) == [0, 1, 2]
    assert played.client == (
        opening()
        + thinking(0, "Hm, \\u2713 “é”", "c2ln+/==")
        + thinking(1, "So", "c2lnMg==")
        + text(2, "Done.")
        + ending("end_turn")
    )
    assert played.requests[0][0].startswith(
        b'{"role":"assistant","content":[{"type":"thinking","thinking":"Hm, '
        + "\\\\u2713 “é”".encode()
        + b'","signature":"c2ln+/=="},'
    )


def test_88_a_block_without_deltas_is_echoed_byte_for_byte() -> None:
    redacted = b'{ "type":"redacted_thinking", "data":"RW5j\\u002fAA==" }'
    raw = (
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        b'"content_block":' + redacted + b"}\n\n" + event("content_block_stop", index=0)
    )

    played = play(stream_relay(), anthropic(raw, tool_use(1), stop_reason="tool_use"), SECOND)

    assert redacted in played.requests[0][0]


def test_89_server_tools_do_not_end_the_loop_and_are_echoed() -> None:
    searched = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"a": 1.0}]}
    server_call = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    first = anthropic(
        block(0, server_call, {"type": "input_json_delta", "partial_json": '{"query":"q"}'}),
        block(1, searched),
        block(
            2,
            {"type": "text", "text": "", "citations": []},
            {"type": "citations_delta", "citation": {"url": "u", "document_index": 0}},
            {"type": "text_delta", "text": "cited"},
        ),
        tool_use(3),
        stop_reason="tool_use",
    )

    played = play(stream_relay(), first, SECOND)

    assistant = json.loads(played.requests[0][0])
    assert assistant["content"][:3] == [
        {**server_call, "input": {"query": "q"}},
        searched,
        {"type": "text", "text": "cited", "citations": [{"url": "u", "document_index": 0}]},
    ]
    assert indices(played.client) == [0, 1, 2, 3]


def test_79_every_call_is_listed_in_order_under_its_own_call_id() -> None:
    other = "c4e9a6acac55dab2"
    first = anthropic(
        tool_use(0, call_id="t1"),
        tool_use(1, EXPAND, f'{{"id":"{other}"}}', call_id="t2"),
        tool_use(2, call_id="t3"),
        tool_use(3, ADJUDICATE, '{"verdicts":[]}', call_id="t4"),
        stop_reason="tool_use",
    )

    played = play(stream_relay(), first, SECOND)

    assert played.calls == [
        (
            Call("t1", EXPAND, ID),
            Call("t2", EXPAND, other),
            Call("t3", EXPAND, ID),
            Call("t4", ADJUDICATE, None),
        )
    ]
    results = json.loads(played.requests[0][1])["content"]
    assert [result["tool_use_id"] for result in results] == ["t1", "t2", "t3", "t4"]


@pytest.mark.parametrize(
    ("written", "marker_id"),
    [
        pytest.param('{"id":"../../etc"}', "../../etc", id="81-path"),
        pytest.param('{"id":""}', "", id="81-empty"),
        pytest.param('{"id":7}', None, id="81-number"),
        pytest.param("{}", None, id="81-absent"),
        pytest.param("", None, id="81-no-input-at-all"),
    ],
)
def test_81_an_id_of_any_shape_is_passed_on_for_its_placeholder(
    written: str, marker_id: str | None
) -> None:
    first = anthropic(tool_use(0, EXPAND, written), stop_reason="tool_use")

    played = play(stream_relay(), first, SECOND)

    assert played.calls == [(Call("toolu_1", EXPAND, marker_id),)]


def test_98_another_tool_beside_ours_gives_the_client_the_whole_round_unchanged() -> None:
    script = anthropic(
        text(0, "Both."),
        tool_use(1),
        tool_use(2, "bash", '{"cmd":"ls"}', call_id="toolu_2"),
        PING,
        stop_reason="tool_use",
    )

    played = play(stream_relay(), script)

    assert played.client == script.body
    assert played.outcome == "bail"
    assert played.relay.expand_after_stream


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        pytest.param(tool_use(0, EXPAND, '{"id":"91c9'), "max_tokens", id="87-max-tokens"),
        pytest.param(tool_use(0), "pause_turn", id="87-pause-turn"),
        pytest.param(tool_use(0), "refusal", id="87-refusal"),
        pytest.param(tool_use(0, EXPAND, '{"id":"91c9'), "tool_use", id="87-cut-input"),
        pytest.param(tool_use(0, call_id=""), "tool_use", id="87-no-call-id"),
        pytest.param(
            tool_use(0, EXPAND, '{"id":"a"},"name":"b"'), "tool_use", id="87-several-values"
        ),
    ],
)
def test_87_a_call_that_cannot_be_answered_is_taken_out_and_the_finish_word_stays(
    call: bytes, reason: str
) -> None:
    played = play(stream_relay(), anthropic(call, text(1, "so"), stop_reason=reason))

    assert played.client == opening() + text(0, "so") + ending(reason)
    assert played.outcome == "bail"


def test_a_delta_that_nobody_knows_yet_is_echoed_under_its_name() -> None:
    newly = block(0, {"type": "new", "new": "a"}, {"type": "new_delta", "new": "b", "by": [1]})
    first = anthropic(newly, tool_use(1), stop_reason="tool_use")

    played = play(stream_relay(), first, SECOND)

    echoed = json.loads(played.requests[0][0])["content"][0]
    assert echoed == {"type": "new", "new": "ab", "by": [1]}


def test_85_the_fourth_call_in_a_row_is_taken_out() -> None:
    only_a_call = anthropic(tool_use(0), stop_reason="tool_use")

    played = play(stream_relay(), only_a_call, only_a_call, only_a_call, only_a_call)

    assert len(played.requests) == 3
    assert played.client == opening() + ending("tool_use")
    assert played.outcome == "cap"


def test_85_blocks_of_all_rounds_are_numbered_through() -> None:
    def asks(words: str) -> Script:
        return anthropic(text(0, words), tool_use(1), text(2, "so:"), stop_reason="tool_use")

    played = play(stream_relay(), asks("a"), asks("b"), asks("c"), asks("d"))

    assert indices(played.client) == list(range(8))
    assert kinds(played.client).count("message_start") == 1


@pytest.mark.parametrize("framing", ["lf", "crlf"])
def test_103_the_client_gets_the_same_bytes_wherever_the_network_cut_them(framing: str) -> None:
    first, second = FIRST, SECOND
    if framing == "crlf":
        first, second = first.with_crlf(), second.with_crlf()
    expected = play(stream_relay(), first, second).client

    assert play(stream_relay(), first.split(1), second.split(1)).client == expected
    for at in range(len(first.body)):
        assert play(stream_relay(), first.split_at(at), second).client == expected
    for at in range(len(second.body)):
        assert play(stream_relay(), first, second.split_at(at)).client == expected


@given(
    rounds=st.lists(
        st.lists(st.sampled_from(["text", "thinking", "ping", "comment"]), max_size=4), max_size=3
    ),
    size=st.integers(1, 90),
)
def test_any_rounds_give_one_well_formed_stream(rounds: list[list[str]], size: int) -> None:
    written: dict[str, Callable[[int], bytes]] = {
        "text": lambda at: text(at, "t ✓"),
        "thinking": lambda at: thinking(at, "h", "s"),
        "ping": lambda _: PING,
        "comment": lambda _: COMMENT,
    }
    scripts = []
    for shape in rounds:
        parts, at = [], 0
        for name in shape:
            parts.append(written[name](at))
            at += name in {"text", "thinking"}
        scripts.append(anthropic(*parts, tool_use(at), stop_reason="tool_use").split(size))

    played = play(stream_relay(), *scripts, SECOND.split(size))

    assert indices(played.client) == list(range(len(indices(played.client))))
    assert kinds(played.client).count("message_start") == 1
    assert kinds(played.client)[-2:] == ["message_delta", "message_stop"]
    assert EXPAND.encode() not in played.client


def test_only_the_number_of_a_renumbered_event_changes() -> None:
    odd = (
        b'event: content_block_start\r\ndata: { "content_block" : {"type":"text","index":0, '
        b'"text":"\\"index\\":0"} , "index" :  0, "type":"content_block_start" }\r\nid: 7\r\n\r\n'
    )

    played = play(stream_relay(), FIRST, anthropic(odd))

    assert odd.replace(b'"index" :  0,', b'"index" :  1,') in played.client


def test_a_stream_without_event_lines_is_understood_by_the_type_in_its_data() -> None:
    def bare(script: Script) -> Script:
        lines = script.body.splitlines(keepends=True)
        return Script([b"".join(line for line in lines if not line.startswith(b"event:"))])

    played = play(stream_relay(), bare(FIRST), bare(SECOND))

    assert played.outcome == "ok"
    assert indices(played.client) == [0, 1]
    assert EXPAND.encode() not in played.client


def test_a_last_event_without_its_blank_line_still_ends_the_stream() -> None:
    script = Script([SECOND.body.removesuffix(b"\n")])

    played = play(stream_relay(), script)

    assert played.client == script.body
    assert played.outcome == "ok"


def test_bytes_after_the_last_event_are_forwarded_at_the_end() -> None:
    script = Script([SECOND.body + b": bye"])

    played = play(stream_relay(), script)

    assert played.client == script.body


def test_92_a_response_that_cannot_be_intercepted_is_relayed_chunk_by_chunk() -> None:
    script = FIRST.split(7)

    played = play(stream_relay(interceptable=False), script)

    assert played.sent == [*script.chunks, b""]
    assert played.outcome == "ok"
    assert played.relay.usage[0].usage == Usage(fresh_input=12, output=9)


def test_an_answer_is_given_only_after_a_round_asked_for_it() -> None:
    with pytest.raises(ValueError, match="no round"):
        stream_relay().continuation([])
