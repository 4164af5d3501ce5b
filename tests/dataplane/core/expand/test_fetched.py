"""What a client fetches of what the provider kept (00-start-here.md 2 (row 26))."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.expand import fetched
from dataplane.core.expand.relay import Deliver, Relay
from dataplane.core.port.signals import Event
from dataplane.core.tools.tool import EXPAND
from tests.dataplane.core.expand.responses_script import (
    DECLARED,
    Item,
    called,
    message,
    response,
    stream,
)
from tests.dataplane.core.expand.scripts import Script, compact, data_of

OUTPUT: Item = {"type": "function_call_output", "call_id": "call_1", "output": "the original"}


def fetch(script: Script, *, streams: bool = False, shown_as: str = "", status: int = 200) -> bytes:
    return delivered(script, streams=streams, shown_as=shown_as, status=status)[0]


def ending_of(script: Script, *, streams: bool = False) -> str:
    ending = delivered(script, streams=streams)[1]
    return ending.name if ending else ""


def delivered(
    script: Script, *, streams: bool = False, shown_as: str = "", status: int = 200
) -> tuple[bytes, Event | None]:
    kind = "text/event-stream" if streams else "application/json"
    relay: Relay = fetched.open_fetched(status, kind, shown_as=shown_as)
    got = b"".join(relay.feed(chunk) for chunk in script.chunks)
    ended = relay.end_round(complete=not script.cut)
    assert isinstance(ended, Deliver)
    return got + ended.rest, ended.ending


def test_a_response_is_shown_by_the_id_that_the_client_knows_and_without_our_call() -> None:
    kept = response(2, message(2, "Done."), called(1))

    got = json.loads(fetch(Script([compact(kept)]), shown_as="resp_1"))

    assert got == {**kept, "id": "resp_1", "output": [message(2, "Done.")], "tools": DECLARED[:1]}


@pytest.mark.parametrize("size", [1, 50, 5000])
def test_a_list_of_items_has_neither_our_call_nor_what_answered_it(size: int) -> None:
    other = {**OUTPUT, "call_id": "call_2"}
    data = [message(1, "Hi."), called(1), OUTPUT, called(2, "read"), other]

    got = json.loads(fetch(Script([compact({"object": "list", "data": data})]).split(size)))

    assert got["data"] == [message(1, "Hi."), called(2, "read"), other]


@pytest.mark.parametrize(
    "body", [b"not JSON", b"[1]", b'{"data":7}', b'{"id": "resp_1", "deleted" :true}']
)
def test_what_holds_nothing_of_ours_is_shown_as_it_came(body: bytes) -> None:
    assert fetch(Script([body])) == body
    assert fetch(Script([body[:5]], cut=True)) == body[:5]
    assert fetch(Script([compact(response(1, called(1)))]), status=404).count(EXPAND.encode()) == 2


def test_a_body_that_is_too_large_to_be_held_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched, "MAX_HELD_BYTES", 10)
    script = Script([compact(response(1, message(1, "x" * 99)))])

    assert fetch(script.split(8)) == script.body


def test_a_stream_that_is_resumed_keeps_the_providers_numbers() -> None:
    script = stream(2, message(1, "Hi."), called(1), message(2, "Done."))

    got = list(data_of(fetch(script, streams=True, shown_as="resp_1")))

    expected = [event for event in data_of(script.body) if event.get("output_index") != 1]
    assert [event["sequence_number"] for event in got] == [
        event["sequence_number"] for event in expected
    ]
    last: Any = got[-1]["response"]
    assert (last["id"], last["tools"]) == ("resp_1", DECLARED[:1])
    assert last["output"] == [message(1, "Hi."), message(2, "Done.")]
    assert EXPAND.encode() not in fetch(script, streams=True)


def test_a_stream_that_is_resumed_behind_the_begin_of_our_call_does_not_name_it() -> None:
    script = stream(2, called(1), message(2, "Done."))
    begun = script.body.index(b"event: response.function_call_arguments.delta")

    got = fetch(Script([script.body[begun:]]), streams=True)

    assert EXPAND.encode() not in got
    assert fetch(Script([b"event: x"], cut=True), streams=True, status=500) == b"event: x"


def test_a_call_that_is_taken_out_of_an_answer_has_its_ending() -> None:
    ours, its = response(1, message(1, "Hi."), called(1)), response(1, called(2, "read"))

    assert ending_of(Script([compact(ours)])) == "call_fetched"
    assert ending_of(Script([compact(its)])) == ""
    assert ending_of(Script([compact({"data": [called(1), OUTPUT]})])) == ""


def test_a_call_in_a_stream_that_is_resumed_has_its_ending() -> None:
    script = stream(2, message(1, "Hi."), called(1))
    last = script.body.index(b"event: response.completed")

    assert ending_of(script, streams=True) == "call_fetched"
    assert ending_of(Script([script.body[last:]]), streams=True) == "call_fetched"
    assert ending_of(stream(2, message(1, "Hi."), called(2, "read")), streams=True) == ""
