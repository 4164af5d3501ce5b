"""The splice of Responses streams (00-start-here.md 2 (rows 26 and 37); 03 §4.5)."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from dataplane.core.expand.relay import Call
from dataplane.core.tools.tool import EXPAND
from dataplane.core.wire.usage import Usage
from tests.dataplane.core.expand import responses_script as scripted
from tests.dataplane.core.expand.responses_script import (
    added,
    body,
    called,
    done,
    each_item,
    ending,
    faults,
    message,
    numbered,
    opening,
    pieces,
    reasoning,
    relay,
    response,
    stream,
    wire,
)
from tests.dataplane.core.expand.scripts import ID, ORIGINAL, Played, Script, data_of, play

FIRST_ITEMS = [reasoning(1), message(1, "Let me look ✓."), called(1)]
LAST_ITEMS = [reasoning(2), message(2, "It says ✓.")]
SHOWN = [reasoning(1), message(1, "Let me look ✓."), *LAST_ITEMS]
FIRST, LAST = stream(1, *FIRST_ITEMS), stream(2, *LAST_ITEMS)


def of_kind(played: Played, kind: str) -> list[dict[str, Any]]:
    return [event for event in data_of(played.client) if event["type"] == kind]


def final(played: Played) -> dict[str, Any]:
    last: dict[str, Any] = list(data_of(played.client))[-1]
    assert last["type"] in {"response.completed", "response.incomplete", "response.failed"}
    found: dict[str, Any] = last["response"]
    return found


def items(played: Played) -> list[str]:
    return [item["id"] for item in final(played)["output"]]


def as_the_package_reads_it(stream: bytes) -> Any:
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers=headers, content=stream)
    )
    with httpx2.Client(transport=transport) as http:
        client = openai.OpenAI(api_key="k", http_client=http)
        with client.responses.stream(model="gpt-5.6", input="?") as opened:
            return opened.get_final_response()


def test_two_rounds_are_one_response_for_the_client() -> None:
    played = play(relay(), FIRST, LAST)

    assert played.outcome == "ok"
    assert faults(played.client) == []
    assert final(played)["output"] == SHOWN
    assert len(of_kind(played, "response.created")) == 1
    assert len(of_kind(played, "response.in_progress")) == 1
    assert EXPAND.encode() not in played.client


def test_the_client_knows_the_response_by_the_id_it_was_shown_first() -> None:
    played = play(relay(), FIRST, LAST)

    assert final(played)["id"] == "resp_1"


def test_the_client_sees_the_size_of_the_context_and_every_round_is_billed() -> None:
    played = play(relay(), FIRST, LAST)

    assert final(played)["usage"] == scripted.usage(200)
    assert [each.usage for each in played.relay.usage] == [
        Usage(fresh_input=100, output=5),
        Usage(fresh_input=200, output=5),
    ]


def test_the_continuation_echoes_every_item_and_gives_the_exact_original() -> None:
    played = play(relay(), FIRST, LAST)

    assert played.calls == [(Call("call_1", EXPAND, ID),)]
    echoed, result = played.requests[0]
    assert json.loads(b"[" + echoed + b"]") == FIRST_ITEMS
    assert json.loads(result) == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": ORIGINAL,
    }


def test_the_package_reads_the_rounds_as_one_response() -> None:
    read = as_the_package_reads_it(play(relay(), FIRST, LAST).client)

    assert [item.id for item in read.output] == ["rs_1", "msg_1", "rs_2", "msg_2"]
    assert read.output_text == "Let me look ✓.It says ✓."


def test_a_stream_without_a_call_is_byte_identical_but_for_the_tool_that_it_repeats() -> None:
    script = stream(1, reasoning(1), message(1, "Hello ✓."), called(2, "read"))

    assert play(relay(declared=False), script).client == script.body
    hidden = json.dumps(scripted.DECLARED[1], separators=(",", ":")).encode()
    assert play(relay(), script).client == script.body.replace(b"," + hidden, b"")


def test_the_tools_that_a_model_was_allowed_to_call_are_those_of_the_client() -> None:
    chosen = {"type": "allowed_tools", "mode": "auto", "tools": scripted.DECLARED}

    played = play(relay(), stream(1, message(1, "Hi."), tool_choice=chosen))

    assert final(played)["tool_choice"] == {**chosen, "tools": scripted.DECLARED[:1]}
    assert EXPAND.encode() not in played.client


def test_a_stream_that_opens_with_the_call_waits_and_says_so() -> None:
    played = play(relay(), stream(1, called(1)), LAST)

    assert played.relay.buffered
    assert faults(played.client) == []
    assert final(played)["output"] == LAST_ITEMS


def test_what_was_said_behind_the_call_is_said_before_the_next_round() -> None:
    first = stream(1, called(1), message(1, "Meanwhile."), called(3))

    played = play(relay(), first, LAST)

    assert faults(played.client) == []
    assert items(played) == ["msg_1", "rs_2", "msg_2"]


def test_an_item_that_was_begun_before_the_call_is_finished_behind_it() -> None:
    said, call = message(1, "Let me look."), called(1)
    whole = response(1, said, call)
    parts = list(pieces(0, said))
    mingled = [added(0, said), *parts[:2], added(1, call), *parts[2:], *pieces(1, call)]
    events = [*opening(whole), *mingled, done(0, said), done(1, call), ending(whole)]

    played = play(relay(), Script([wire(event) for event in numbered(events)]), LAST)

    assert faults(played.client) == []
    assert items(played) == ["msg_1", "rs_2", "msg_2"]


def test_an_id_that_two_rounds_use_is_another_one_in_the_second() -> None:
    played = play(relay(), FIRST, stream(2, message(1, "It says ✓.")))

    assert faults(played.client) == []
    assert items(played) == ["rs_1", "msg_1", "msg_1_1"]
    assert as_the_package_reads_it(played.client).output[2].id == "msg_1_1"


def test_three_rounds_are_one_response() -> None:
    second = stream(2, message(2, "And this."), called(2))

    played = play(relay(), FIRST, second, stream(3, message(3, "Done.")))

    assert faults(played.client) == []
    assert items(played) == ["rs_1", "msg_1", "msg_2", "msg_3"]


@pytest.mark.parametrize("framing", ["lf", "crlf"])
def test_the_client_gets_the_same_bytes_wherever_the_network_cut_them(framing: str) -> None:
    first, last = (FIRST, LAST) if framing == "lf" else (FIRST.with_crlf(), LAST.with_crlf())
    expected = play(relay(), first, last).client

    for size in (1, 7, 64, 333):
        assert play(relay(), first.split(size), last.split(size)).client == expected


# ---- what cannot be answered here -------------------------------------------------------------


def test_a_turn_with_a_call_for_the_client_goes_to_the_client_whole() -> None:
    script = stream(1, reasoning(1), called(1), called(2, "read"))

    played = play(relay(declared=False), script)

    assert (played.outcome, played.client) == ("bail", script.body)
    assert played.relay.expand_after_stream


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(stream(1, *FIRST_ITEMS, status="incomplete"), id="incomplete"),
        pytest.param(
            stream(1, *FIRST_ITEMS, status="failed", error={"code": "server_error"}), id="failed"
        ),
        pytest.param(stream(1, *FIRST_ITEMS[:2], called(1, call_id="")), id="no-call-id"),
    ],
)
def test_a_call_that_nobody_can_answer_is_taken_out_and_the_end_stays(script: Script) -> None:
    played = play(relay(), script)

    assert faults(played.client) == []
    assert items(played) == ["rs_1", "msg_1"]
    assert final(played)["status"] == list(data_of(script.body))[-1]["response"]["status"]  # type: ignore[index]
    assert EXPAND.encode() not in played.client
    assert not played.relay.expand_after_stream


def test_arguments_that_name_no_marker_are_answered_like_any_other() -> None:
    played = play(relay(), stream(1, called(1, arguments='{"id":')), LAST)

    assert played.calls == [(Call("call_1", EXPAND, None),)]
    assert final(played)["output"] == LAST_ITEMS


def test_a_fourth_call_in_a_row_is_taken_out() -> None:
    rounds = [stream(number, message(number, "On."), called(number)) for number in range(1, 5)]

    played = play(relay(), *rounds)

    assert played.outcome == "cap"
    assert faults(played.client) == []
    assert items(played) == ["msg_1", "msg_2", "msg_3", "msg_4"]


def test_a_stream_that_breaks_off_in_the_call_says_nothing_of_it() -> None:
    played = play(relay(), FIRST.until(b"event: response.completed"))

    assert played.outcome == "truncated"
    assert EXPAND.encode() not in played.client
    assert not of_kind(played, "response.completed")
    cut = play(relay(), Script([FIRST.body.partition(b'"context_guru_exp')[0]], cut=True))
    assert b"context_guru" not in cut.client


def test_a_refused_continuation_hands_the_round_over_whole() -> None:
    played = play(relay(declared=False), FIRST, None)

    assert (played.outcome, played.client) == ("next_failed", FIRST.body)
    assert played.relay.expand_after_stream


def test_a_continuation_that_fails_at_once_hands_the_round_before_over() -> None:
    failed = stream(2, status="failed", error={"code": "server_error", "message": "no"})

    played = play(relay(), FIRST, failed)

    assert played.outcome == "next_failed"
    assert faults(played.client) == []
    assert items(played) == ["rs_1", "msg_1", "fc_1"]


def test_a_third_round_that_fails_hands_the_second_over_behind_the_first() -> None:
    played = play(relay(), FIRST, stream(2, message(2, "And this."), called(2)), None)

    assert faults(played.client) == []
    assert items(played) == ["rs_1", "msg_1", "msg_2", "fc_2"]


def test_a_continuation_that_breaks_off_has_no_end() -> None:
    played = play(relay(), FIRST, LAST.until(b"event: response.completed"))

    assert played.outcome == "next_cut"
    assert faults(played.client) == []
    assert not of_kind(played, "response.completed")


def test_a_failure_in_the_midst_of_a_continuation_is_the_clients_too() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Try again in 2s."}
    whole = response(2, *LAST_ITEMS, status="failed", error=error)
    events = [*opening(whole), *each_item(LAST_ITEMS), ending(whole)]

    played = play(relay(), FIRST, Script([wire(event) for event in numbered(events)]))

    assert faults(played.client) == []
    assert final(played)["error"] == error
    assert (final(played)["id"], final(played)["status"]) == ("resp_1", "failed")


def test_more_than_may_be_withheld_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataplane.core.expand.stream.MAX_RETAINED_BYTES", 4000)
    long = called(1, arguments=json.dumps({"id": "x" * 900}))
    script = stream(1, reasoning(1), long)

    played = play(relay(declared=False), script)

    assert (played.outcome, played.client) == ("oversize", script.body)


# ---- reasoning ---------------------------------------------------------------------------------


def test_reasoning_that_only_the_last_event_seals_is_carried_sealed() -> None:
    events = list(data_of(FIRST.body))
    bare = reasoning(1, encrypted_content=None)
    for event in events:
        if event.get("item") == reasoning(1):
            event["item"] = bare

    played = play(relay(), Script([wire(event) for event in events]), LAST)

    assert json.loads(b"[" + played.requests[0][0] + b"]")[0] == reasoning(1)


@pytest.mark.parametrize("streams", [True, False])
def test_reasoning_that_nobody_kept_is_left_out_of_the_continuation(streams: bool) -> None:  # noqa: FBT001
    first = [reasoning(1, encrypted_content=None), called(1)]
    made = stream if streams else body

    played = play(relay(stores=False, streams=streams), made(1, *first), made(2, *LAST_ITEMS))

    echoed = json.loads(b"[" + played.requests[0][0] + b"]")
    assert echoed == [{name: value for name, value in called(1).items() if name != "id"}]
    kept = play(relay(stores=True, streams=streams), made(1, *first), made(2, *LAST_ITEMS))
    assert json.loads(b"[" + kept.requests[0][0] + b"]") == first


# ---- one body ----------------------------------------------------------------------------------

ENDINGS: dict[str, list[list[dict[str, Any]]]] = {
    "one-round": [[message(1, "Hello.")]],
    "two-rounds": [FIRST_ITEMS, LAST_ITEMS],
    "opens-with-the-call": [[called(1)], LAST_ITEMS],
    "said-behind-the-call": [[called(1), message(1, "Meanwhile.")], LAST_ITEMS],
    "mixed": [[called(1), called(2, "read")]],
    "no-call-id": [[message(1, "Hm."), called(1, call_id="")]],
    "cap": [[message(number, "On."), called(number)] for number in range(1, 5)],
}


@pytest.mark.parametrize("case", ENDINGS)
def test_the_body_says_what_the_stream_would_have_ended_with(case: str) -> None:
    rounds = list(enumerate(ENDINGS[case], start=1))

    as_stream = play(relay(), *(stream(number, *said) for number, said in rounds))
    as_body = play(relay(streams=False), *(body(number, *said) for number, said in rounds))

    told, ended = json.loads(as_body.client), final(as_stream)
    assert as_body.outcome == as_stream.outcome
    assert told.pop("id") == f"resp_{len(rounds)}"  # it was shown no other
    assert ended.pop("id") == "resp_1"
    assert told == ended


@pytest.mark.parametrize("streams", [True, False])
def test_a_refused_third_round_gives_the_second_whole(streams: bool) -> None:  # noqa: FBT001
    made = stream if streams else body

    played = play(
        relay(streams=streams), made(1, *FIRST_ITEMS), made(2, message(2, "On."), called(2)), None
    )

    last = final(played) if streams else json.loads(played.client)
    assert [item["id"] for item in last["output"]] == ["rs_1", "msg_1", "msg_2", "fc_2"]
