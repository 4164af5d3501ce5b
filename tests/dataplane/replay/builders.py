"""Small recordings, one fact each."""

from __future__ import annotations

import json

from dataplane.replay.recording import Json, RecordedTurn, Recording

BASH: Json = {
    "name": "bash",
    "description": "Run a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def call(call_id: str, command: str) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "bash", "input": {"command": command}}


def result(call_id: str, printed: object) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": printed}


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


def recording(*messages: Json, gap_s: float = 5.0) -> Recording:
    """A turn at every message of the user, gap_s apart."""
    lengths = [n for n, message in enumerate(messages, start=1) if message["role"] == "user"]
    return Recording(
        name="small",
        model="claude-sonnet-5",
        system="You are careful.",
        tools=(BASH,),
        messages=messages,
        turns=tuple(RecordedTurn(n, i * gap_s) for i, n in enumerate(lengths)),
    )


def conversation(*, printed: str = "a.py\nb.py", gap_s: float = 5.0) -> Recording:
    """Two turns: a question, then the output of the command that the model asked for."""
    return recording(
        user(text("What is here?")),
        assistant(text("I look."), call("toolu_1", "ls")),
        user(result("toolu_1", printed)),
        gap_s=gap_s,
    )


def lines(*entries: Json) -> str:
    """A transcript: one JSON object a line."""
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def entry(uuid: str, parent: str | None, role: str, content: object, **more: object) -> Json:
    """One line of a Claude Code transcript."""
    message = {"role": role, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    return {"uuid": uuid, "parentUuid": parent, "type": role, "message": message, **more}
