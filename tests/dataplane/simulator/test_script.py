"""The script format (docs/simulator.md)."""

from __future__ import annotations

import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.simulator import Round, Simulator, script_header
from dataplane.simulator.pacing import Write, writes
from dataplane.simulator.problem import ScriptError
from dataplane.simulator.script import Scripts, markers_in, with_markers


def contents(scripts: Scripts, header: str | None, times: int) -> list[object]:
    taken = [scripts.take(header) for _ in range(times)]
    return [wanted.content if wanted else None for wanted in taken]


def test_requests_with_one_script_id_take_its_rounds_in_order_and_the_last_repeats() -> None:
    header = script_header({"content": "one"}, {"content": "two"}, id="s")

    assert contents(Scripts(), header, 4) == ["one", "two", "two", "two"]


def test_two_script_ids_do_not_take_each_others_rounds() -> None:
    scripts = Scripts()
    first = script_header({"content": "a1"}, {"content": "a2"}, id="a")
    second = script_header({"content": "b1"}, {"content": "b2"}, id="b")

    assert contents(scripts, first, 1) + contents(scripts, second, 1) == ["a1", "b1"]
    assert contents(scripts, first, 1) + contents(scripts, second, 1) == ["a2", "b2"]


def test_queued_rounds_answer_one_request_each() -> None:
    scripts = Scripts()
    scripts.queue({"content": "one"}, Round(content="two"))

    assert contents(scripts, None, 3) == ["one", "two", None]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        pytest.param("{", "x-sim-script", id="not-json"),
        pytest.param('{"rounds": []}', "rounds", id="no-round"),
        pytest.param('{"rounds": [{"contents": "x"}]}', "contents", id="misspelt-key"),
        pytest.param('{"rounds": [{"status": 99}]}', "status", id="impossible-status"),
        pytest.param('{"rounds": [{}, {}]}', "id", id="several-rounds-without-id"),
    ],
)
def test_a_script_that_cannot_be_followed_is_refused_by_name(header: str, names: str) -> None:
    with pytest.raises(ScriptError, match=names):
        Scripts().take(header)


async def test_a_played_model_answers_what_no_script_and_no_queue_answers() -> None:
    async with Simulator() as simulator, httpx.AsyncClient(base_url=simulator.url) as client:
        simulator.script({"content": "queued"})
        simulator.play(
            lambda request: {"content": request.path} if b"play" in request.body else None
        )

        said = [await said_to(client, text) for text in ("play", "play", "else")]

    assert said[:2] == ["queued", "/v1/messages"]
    assert "arrived at the simulated provider" in said[2]


async def said_to(client: httpx.AsyncClient, text: str) -> str:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
    answer = await client.post("/v1/messages", json=body, headers={"x-api-key": "sk"})
    said: str = answer.json()["content"][0]["text"]
    return said


def test_a_misspelt_key_of_a_queued_round_is_refused_at_once() -> None:
    with pytest.raises(ScriptError, match="contnt"):
        Scripts().queue({"contnt": "x"})


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_header_is_ascii_and_keeps_every_character(text: str) -> None:
    header = script_header({"content": text})

    assert header.isascii()
    assert json.loads(header)["rounds"][0]["content"] == text
    assert contents(Scripts(), header, 1) == [text]


def test_markers_are_found_in_both_spellings_each_once() -> None:
    raw = rb'["<<cg:aa>> <<cg:bb>>", "\u003c\u003Ccg:cc\u003e\u003E", "<<cg:aa>>", "<cg:dd>"]'

    assert markers_in(raw) == ["aa", "bb", "cc"]


def test_a_placeholder_at_any_depth_becomes_a_marker_id() -> None:
    block = {"input": {"ids": [{"$marker": 0}, {"$marker": -1}], "n": 1}}

    assert with_markers(block, lambda: ["aa", "bb", "cc"]) == {
        "input": {"ids": ["aa", "cc"], "n": 1}
    }


@pytest.mark.parametrize("position", [3, -4, "x"])
def test_a_placeholder_without_its_marker_is_an_error(position: object) -> None:
    with pytest.raises(ScriptError, match="3 marker"):
        with_markers({"$marker": position}, lambda: ["aa", "bb", "cc"])


def test_events_are_one_write_each_with_the_gap_between_them() -> None:
    assert list(writes([b"one", b"two"], Round(gap_ms=5))) == [Write(b"one"), Write(b"two", 5)]


def test_chunks_split_events_without_a_pause_inside_them() -> None:
    wanted = Round(chunk_bytes=2, gap_ms=5)

    assert list(writes([b"abc", b"d"], wanted)) == [Write(b"ab"), Write(b"c"), Write(b"d", 5)]


@given(
    events=st.lists(st.binary(min_size=1, max_size=9), max_size=8),
    size=st.integers(1, 5),
    limit=st.integers(0, 80),
)
def test_a_cut_after_bytes_sends_exactly_that_many(
    events: list[bytes], size: int, limit: int
) -> None:
    sent = writes(events, Round(chunk_bytes=size, cut_after_bytes=limit))

    assert b"".join(write.payload for write in sent) == b"".join(events)[:limit]


def test_a_cut_after_events_sends_exactly_that_many() -> None:
    sent = writes([b"a", b"b", b"c"], Round(cut_after_events=2))

    assert [write.payload for write in sent] == [b"a", b"b"]
