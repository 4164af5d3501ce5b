"""Reads a session file: `{name, model, system, tools, messages, turns: [{upto, at}]}`."""

from __future__ import annotations

from dataplane.replay.recording import Json, RecordedTurn, Recording, RecordingError, blocks

MEMBERS = frozenset({"name", "model", "system", "tools", "messages", "turns"})


def is_session_file(value: object) -> bool:
    return isinstance(value, dict) and value.keys() >= MEMBERS


def read(value: Json, name: str) -> Recording:
    """The recording, message for message as it stands in the file."""
    messages = tuple({**m, "content": blocks(m["content"])} for m in value["messages"])
    turns = tuple(RecordedTurn(int(t["upto"]), float(t["at"])) for t in value["turns"])
    for turn in turns:
        if not 0 < turn.upto <= len(messages):
            raise RecordingError(f"{name}: a turn sends {turn.upto} of {len(messages)} messages")
    return Recording(
        name=str(value["name"]),
        model=str(value["model"]),
        system=str(value["system"]),
        tools=tuple(value["tools"]),
        messages=messages,
        turns=turns,
    )
