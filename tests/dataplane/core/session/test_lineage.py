"""Threads of a session, told by their history (03-proxy-and-recovery.md 2.4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.session.lineage import (
    KEPT_SESSIONS,
    KEPT_THREADS,
    STALE_S,
    SUMMARIES,
    Lineages,
    prints_of,
)
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Dialect

NOW = 1_000_000.0
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def transcript(topic: str, length: int) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"{topic} {n}"} for n in range(length)]


class Session:
    """Requests of one session, asked for their threads."""

    def __init__(self) -> None:
        self.lineages = Lineages()

    def thread(self, messages: list[dict[str, Any]], *, at: float = NOW, session: str = "s") -> str:
        body = json.dumps({"messages": messages}).encode()
        prints = prints_of(decode(Dialect.ANTHROPIC, body).messages)
        return self.lineages.thread(session, prints, tenant="a", at=at)


def test_the_first_thread_is_the_main_one_and_grows() -> None:
    session = Session()

    assert [session.thread(transcript("main", n)) for n in (1, 3, 3, 9)] == [""] * 4


def test_a_sub_agent_between_two_turns_is_a_thread_of_its_own() -> None:
    session = Session()
    session.thread(transcript("main", 19))

    sub = [session.thread(transcript("sub", n)) for n in (1, 3)]

    assert sub[0] == sub[1]
    assert sub[0].startswith("p:")
    assert len(sub[0]) == len("p:") + 12
    assert session.thread(transcript("main", 21)) == ""


@pytest.mark.parametrize("said", SUMMARIES)
def test_an_agent_that_goes_on_from_a_summary_stays_in_its_thread(said: bytes) -> None:
    session = Session()
    session.thread(transcript("sub", 3), session="other")
    session.thread(transcript("main", 19))
    summary = [{"role": "user", "content": f"{said.decode()}. They counted."}]
    answered = [*summary, {"role": "assistant", "content": "done"}]

    assert session.thread(summary) == ""
    assert session.thread([*answered, {"role": "user", "content": "go on"}]) == ""
    assert session.thread([{"role": "user", "content": "a sub-agent"}]) != ""


def test_what_was_asked_in_one_message_is_not_what_a_summary_stands_for() -> None:
    session = Session()
    session.thread([{"role": "user", "content": "Generate a title for this conversation:"}])
    history = session.thread(transcript("main", 1))
    session.thread(transcript("main", 19))
    session.thread([{"role": "user", "content": "Here is the conversation so far: main"}])
    opening = {"role": "user", "content": "What did we do so far?"}
    summary = {"role": "assistant", "content": "They counted."}

    assert history != ""
    assert session.thread([opening, summary, {"role": "user", "content": "go on"}]) == history


def test_a_shortened_history_with_the_same_beginning_stays_in_its_thread() -> None:
    session = Session()
    session.thread(transcript("main", 10))
    session.thread(transcript("sub", 2))

    assert session.thread(transcript("main", 4)) == ""


def test_a_side_question_about_the_whole_history_belongs_to_it() -> None:
    session = Session()
    history = transcript("main", 9)
    session.thread(history)

    assert session.thread([*history, {"role": "user", "content": "A title?"}]) == ""
    assert session.thread(transcript("main", 11)) == ""


def test_of_two_agents_with_one_task_each_goes_on_from_its_own_answer() -> None:
    session = Session()
    session.thread(transcript("main", 3))
    task = {"role": "user", "content": "Look."}
    one = [task, {"role": "assistant", "content": "one"}, {"role": "user", "content": "?"}]
    session.thread(one)

    assert session.thread([*one, task, task]) == session.thread([task])


def ignoring(change: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A beginning as it was sent first, and as it comes back with the next turn."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "long"}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    before: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [THOUGHT, call]},
        {"role": "user", "content": [result]},
    ]
    after = json.loads(json.dumps(before))
    match change:
        case "mark":
            after[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
        case "thinking":
            del after[1]["content"][0]
        case "result":
            after[2]["content"][0]["content"] = [{"type": "text", "text": "short"}]
        case "text":
            after[0]["content"] = [{"type": "text", "text": "Go."}]
        case "order":
            after[0] = dict(reversed(after[0].items()))
    return before, after


@pytest.mark.parametrize("change", ["mark", "thinking", "result", "text", "order"])
def test_what_agents_change_behind_themselves_is_not_looked_at(change: str) -> None:
    before, after = ignoring(change)
    prints = [
        prints_of(decode(Dialect.ANTHROPIC, json.dumps({"messages": each}).encode()).messages)
        for each in (before, after)
    ]

    assert prints[0] == prints[1]


def test_another_result_id_is_another_history() -> None:
    before, after = ignoring("nothing")
    after[2]["content"][0]["tool_use_id"] = "u"
    prints = [
        prints_of(decode(Dialect.ANTHROPIC, json.dumps({"messages": each}).encode()).messages)
        for each in (before, after)
    ]

    assert prints[0].all[1] == prints[1].all[1]
    assert prints[0].all[2] != prints[1].all[2]


@pytest.mark.parametrize(
    ("dialect", "one", "other"),
    [
        (
            Dialect.OPENAI_CHAT,
            {"messages": [{"role": "tool", "tool_call_id": "c", "content": "long"}]},
            {"messages": [{"role": "tool", "tool_call_id": "c", "content": "short"}]},
        ),
        (
            Dialect.OPENAI_RESPONSES,
            {"input": [{"type": "function_call_output", "call_id": "c", "output": "long"}]},
            {"input": [{"type": "function_call_output", "call_id": "c", "output": []}]},
        ),
        (
            Dialect.OPENAI_RESPONSES,
            {"input": [{"type": "reasoning", "id": "a"}, {"role": "user", "content": "x"}]},
            {"input": [{"type": "reasoning", "id": "b"}, {"role": "user", "content": "x"}]},
        ),
    ],
)
def test_the_other_dialects_are_read_alike(
    dialect: Dialect, one: dict[str, Any], other: dict[str, Any]
) -> None:
    prints = [
        prints_of(decode(dialect, json.dumps(each).encode()).messages) for each in (one, other)
    ]

    assert prints[0] == prints[1]


@pytest.mark.parametrize("message", [7, [], None, "text"])
def test_a_message_of_no_known_shape_has_a_fingerprint(message: object) -> None:
    body = json.dumps({"messages": [message]}).encode()

    found = prints_of(decode(Dialect.ANTHROPIC, body).messages)

    assert len(found.all) == 1
    assert found.head == found.all[0]


def test_an_empty_history_is_the_main_thread() -> None:
    session = Session()

    assert session.thread([]) == ""
    assert session.thread([]) == ""


def test_a_thread_without_a_turn_for_two_hours_is_forgotten_but_the_main_one() -> None:
    session = Session()
    session.thread(transcript("main", 3))
    session.thread(transcript("sub", 3))
    later = NOW + STALE_S + 1

    assert session.thread(transcript("main", 5), at=later) == ""
    assert list(session.lineages._sessions["a", "s"].threads) == [""]


def test_threads_and_sessions_are_bounded() -> None:
    session = Session()
    session.thread(transcript("main", 1))
    for number in range(KEPT_THREADS + 5):
        session.thread(transcript(f"sub {number}", 1))
    for number in range(KEPT_SESSIONS):
        session.lineages.thread(str(number), prints_of_nothing(), tenant="a", at=NOW)

    assert len(session.lineages._sessions) == KEPT_SESSIONS


def test_the_main_thread_outlives_many_sub_agents() -> None:
    session = Session()
    session.thread(transcript("main", 1))
    for number in range(KEPT_THREADS + 5):
        session.thread(transcript(f"sub {number}", 1))

    threads = session.lineages._sessions["a", "s"].threads
    assert len(threads) == KEPT_THREADS
    assert session.thread(transcript("main", 3)) == ""


def prints_of_nothing() -> Any:
    return prints_of([])
