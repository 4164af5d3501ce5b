"""Files of three kinds become one form that a provider accepts."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from dataplane.replay.importer import load, read
from dataplane.replay.recording import (
    Json,
    RecordedTurn,
    RecordingError,
    is_call,
    is_result,
    tools_called_in,
)
from tests.dataplane.replay.builders import assistant, call, entry, lines, result, text, user

DATA = Path(__file__).resolve().parents[2] / "data"
FOLDERS = ("claude-code", "sessions", "trajectories")
RECORDINGS = sorted(
    path
    for folder in FOLDERS
    for path in (DATA / folder).iterdir()
    if path.suffix in {".json", ".traj", ".jsonl"}
)


def test_the_repository_carries_recordings_of_all_three_kinds() -> None:
    assert {path.suffix for path in RECORDINGS} == {".json", ".traj", ".jsonl"}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_every_turn_of_a_recording_ends_with_the_user_and_none_goes_back_in_time(
    path: Path,
) -> None:
    recording = load(path)

    assert [recording.messages[turn.upto - 1]["role"] for turn in recording.turns] == [
        "user"
    ] * len(recording.turns)
    assert list(recording.turns) == sorted(recording.turns, key=lambda turn: (turn.at, turn.upto))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_every_call_is_answered_in_the_next_message_under_an_id_of_its_own(path: Path) -> None:
    messages = load(path).messages[: load(path).turns[-1].upto]
    seen: set[str] = set()

    for before, after in pairwise(messages):
        called = [block["id"] for block in before["content"] if is_call(block)]
        answered = [block["tool_use_id"] for block in after["content"] if is_result(block)]
        assert sorted(called) == sorted(answered)
        assert not seen & set(called)
        seen |= set(called)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_roles_alternate(path: Path) -> None:
    roles = [message["role"] for message in load(path).messages]

    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]


def test_a_session_file_keeps_its_messages_and_times() -> None:
    path = DATA / "sessions" / "audit-1.json"
    written = json.loads(path.read_text(encoding="utf-8"))
    recording = load(path)

    assert list(recording.messages) == written["messages"]
    assert [{"upto": t.upto, "at": t.at} for t in recording.turns] == written["turns"]
    assert (recording.name, recording.model) == ("audit-1", "claude-sonnet-5")


def test_a_session_file_whose_turn_sends_more_than_there_is_is_refused() -> None:
    value = {"name": "n", "model": "m", "system": "", "tools": [], "messages": [user(text("a"))]}

    with pytest.raises(RecordingError, match="sends 2 of 1"):
        read(json.dumps({**value, "turns": [{"upto": 2, "at": 0}]}), "n")


# --- trajectories


def history(*messages: Json, steps: list[Json] | None = None) -> str:
    return json.dumps({"history": list(messages), "trajectory": steps or []})


def said(role: str, content: str, **more: object) -> Json:
    return {"role": role, "content": content, **more}


def calls(*pairs: tuple[str, str]) -> list[Json]:
    return [
        {"id": call_id, "type": "function", "function": {"name": "bash", "arguments": written}}
        for call_id, written in pairs
    ]


def test_a_trajectory_becomes_calls_and_results() -> None:
    recording = read(
        history(
            said("system", "Be careful."),
            said("user", "What is here?"),
            said("assistant", "I look.", tool_calls=calls(("c1", '{"command":"ls"}'))),
            said("tool", "a.py", tool_call_ids=["c1"]),
        ),
        "run",
    )

    assert recording.system == "Be careful."
    assert recording.messages == (
        user(text("What is here?")),
        assistant(text("I look."), call("c1", "ls")),
        user(result("c1", "a.py")),
    )


def test_a_trajectory_that_repeats_an_id_gets_a_new_one_for_the_second_call() -> None:
    once = (
        said("assistant", "again", tool_calls=calls(("c1", "{}"))),
        said("tool", "out", tool_call_ids=["c1"]),
    )
    messages = read(history(said("user", "go"), *once, *once), "run").messages

    assert [b["id"] for m in messages for b in m["content"] if is_call(b)] == ["c1", "c1_2"]
    assert [b["tool_use_id"] for m in messages for b in m["content"] if is_result(b)] == [
        "c1",
        "c1_2",
    ]


def test_arguments_that_are_no_object_are_kept_as_text() -> None:
    messages = read(
        history(
            said("user", "go"),
            said("assistant", "", tool_calls=calls(("c1", "ls -l"))),
            said("tool", "out", tool_call_ids=["c1"]),
        ),
        "run",
    ).messages

    assert messages[1]["content"][0]["input"] == {"arguments": "ls -l"}


def test_a_call_that_was_never_answered_is_left_out() -> None:
    messages = read(
        history(
            said("user", "go"),
            said("assistant", "I try.", tool_calls=calls(("c1", "{}"))),
            said("user", "stop"),
        ),
        "run",
    ).messages

    assert messages == (user(text("go")), assistant(text("I try.")), user(text("stop")))


def test_the_time_between_two_turns_contains_how_long_the_command_ran() -> None:
    answered = (said("assistant", "ok"), said("user", "more"))
    recording = read(
        history(said("user", "go"), *answered, *answered, steps=[{"execution_time": 7.5}]), "run"
    )

    assert recording.turns == (
        RecordedTurn(1, 0.0),
        RecordedTurn(3, 17.5),
        RecordedTurn(5, 27.5),
    )


def test_tools_are_taken_from_the_calls_with_the_types_of_their_arguments() -> None:
    called = {"type": "tool_use", "id": "1", "name": "grep", "input": {"for": "x", "most": 3}}

    assert tools_called_in([assistant(called)])[0]["input_schema"]["properties"] == {
        "for": {"type": "string"},
        "most": {"type": "integer"},
    }


# --- Claude Code transcripts


def test_an_answer_that_is_spread_over_lines_becomes_one_message() -> None:
    messages = read(
        lines(
            entry("1", None, "user", "Go."),
            entry("2", "1", "assistant", [text("I look.")], id="m"),
            entry("3", "2", "assistant", [call("a", "ls")], id="m"),
            entry("4", "3", "user", [result("a", "x")]),
        ),
        "s",
    ).messages

    assert messages == (
        user(text("Go.")),
        assistant(text("I look."), call("a", "ls")),
        user(result("a", "x")),
    )


def test_results_of_parallel_calls_that_hang_beside_the_branch_are_kept() -> None:
    messages = read(
        lines(
            entry("1", None, "user", "Go."),
            entry("2", "1", "assistant", [call("a", "ls")], id="m"),
            entry("3", "2", "user", [result("a", "x")]),
            entry("4", "2", "assistant", [call("b", "pwd")], id="m"),
            entry("5", "4", "user", [result("b", "y")]),
        ),
        "s",
    ).messages

    assert messages == (
        user(text("Go.")),
        assistant(call("a", "ls"), call("b", "pwd")),
        user(result("a", "x"), result("b", "y")),
    )


def test_a_branch_that_was_left_is_not_replayed() -> None:
    messages = read(
        lines(
            entry("1", None, "user", "Go."),
            entry("2", "1", "assistant", [text("left")]),
            entry("3", "2", "user", "left too"),
            entry("4", "1", "assistant", [text("kept")]),
            entry("5", "4", "user", "On."),
        ),
        "s",
    ).messages

    assert messages == (user(text("Go.")), assistant(text("kept")), user(text("On.")))


def test_a_subagent_is_another_conversation() -> None:
    messages = read(
        lines(
            entry("1", None, "user", "Go."),
            entry("9", None, "user", "a subagent's", isSidechain=True),
        ),
        "s",
    ).messages

    assert messages == (user(text("Go.")),)


def test_turns_stand_at_the_seconds_at_which_the_lines_were_written() -> None:
    recording = load(DATA / "claude-code" / "rewound.jsonl")

    assert recording.turns == (
        RecordedTurn(1, 0.0),
        RecordedTurn(3, 9.2),
        RecordedTurn(5, 720.0),
    )
    assert recording.model == "claude-sonnet-5"


# --- what is no recording


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "no line carries a message"),
        ("[1]", "line 1: no JSON object"),
        ('{"type":"summary"}\n{"type":', "line 2: no JSON object"),
        ('{"history": []}', "no message of a user"),
        ('{"history": [{"role": "user"}]}', "not the shape it seems to have"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_a_reason(
    content: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(RecordingError, match=complaint):
        load(path)


def test_a_file_that_cannot_be_read_is_refused_with_its_name(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")

    for path in (tmp_path / "absent", binary):
        with pytest.raises(RecordingError, match=path.name):
            load(path)
