"""Reads a Claude Code transcript: one JSON object a line, as it stands under ~/.claude/projects.

A line of type user or assistant carries a message in the provider's shape, but one answer of the
model is spread over several lines (one a block) that share the message's id, and results of
parallel calls may stand between them. Lines form a tree by parentUuid: after the person went back
to an earlier point, the branch that was left is not part of the conversation. A subagent's lines
(isSidechain) are another conversation. Neither system prompt nor tool definitions are kept.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dataplane.replay.recording import (
    Json,
    RecordedTurn,
    Recording,
    RecordingError,
    blocks,
    is_call,
    is_result,
    merged,
    requests_in,
    tools_called_in,
    without_unanswered_calls,
)

SPOKEN = frozenset({"user", "assistant"})
NO_MODEL = frozenset({"", "<synthetic>"})  # the client's own error notes carry the latter


def read(text: str, name: str) -> Recording:
    """The recording of the last branch; RecordingError names a line that is no JSON object."""
    entries = conversation(list(parsed(text, name)))
    if not entries:
        raise RecordingError(f"{name}: no line carries a message of the conversation")
    timed = merged(answers_joined(entries))
    messages = without_unanswered_calls(timed)
    lengths = list(requests_in(messages))
    return Recording(
        name=name,
        model=next((m for m in models(entries) if m not in NO_MODEL), ""),
        system="",
        tools=tools_called_in(messages),
        messages=tuple({"role": m["role"], "content": m["content"]} for m in messages),
        turns=tuple(turns_at(messages, lengths)),
    )


def parsed(text: str, name: str) -> Iterator[Json]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line, type=dict)
        except msgspec.DecodeError as error:
            raise RecordingError(f"{name}, line {number}: no JSON object ({error})") from error


def conversation(entries: Sequence[Json]) -> list[Json]:
    """The lines of the branch that ends last, in the order of the file."""
    spoken = [entry for entry in entries if is_spoken(entry)]
    if not spoken:
        return []
    branch = ancestors(spoken[-1], {entry.get("uuid"): entry for entry in entries})
    on_branch = [entry for entry in spoken if entry.get("uuid") in branch]
    called = {b.get("id") for entry in on_branch for b in content_of(entry) if is_call(b)}
    return [e for e in spoken if e.get("uuid") in branch or answers(e, called)]


def is_spoken(entry: Mapping[str, object]) -> bool:
    return (
        entry.get("type") in SPOKEN
        and not entry.get("isSidechain")
        and isinstance(entry.get("message"), dict)
    )


def ancestors(last: Json, by_uuid: Mapping[object, Json]) -> set[object]:
    """The ids from this line up to the first; a parent that is not in the file ends the walk."""
    seen: set[object] = set()
    entry: Json | None = last
    while entry is not None and entry.get("uuid") not in seen:
        seen.add(entry.get("uuid"))
        entry = by_uuid.get(entry.get("parentUuid"))
    return seen


def answers(entry: Json, called: set[object]) -> bool:
    """Whether the line is the result of a parallel call, which hangs beside the branch."""
    return any(is_result(b) and b.get("tool_use_id") in called for b in content_of(entry))


def content_of(entry: Json) -> list[Json]:
    return blocks(entry["message"].get("content"))


def models(entries: Iterable[Json]) -> Iterator[str]:
    return (str(entry["message"].get("model", "")) for entry in entries)


def answers_joined(entries: Iterable[Json]) -> Iterator[Json]:
    """One message an answer of the model, at the place where its first line stands."""
    by_id: dict[object, Json] = {}
    ordered: list[Json] = []
    for entry in entries:
        written = entry["message"]
        earlier = by_id.get(written.get("id")) if written.get("id") else None
        if earlier is not None:
            earlier["content"] += content_of(entry)
            continue
        message = {
            "role": entry["type"],
            "content": content_of(entry),
            "at": seconds(entry.get("timestamp")),
        }
        by_id[written.get("id")] = message
        ordered.append(message)
    return iter(ordered)


def seconds(timestamp: object) -> float | None:
    """Seconds since the epoch of an ISO 8601 time; None for anything else."""
    try:
        return datetime.datetime.fromisoformat(str(timestamp)).timestamp()
    except ValueError:
        return None


def turns_at(messages: Sequence[Json], lengths: Sequence[int]) -> Iterator[RecordedTurn]:
    """The turns with seconds since the first; a message without a time stands at the one before."""
    start: float | None = None
    at = 0.0
    for length in lengths:
        written: float | None = messages[length - 1]["at"]
        start = written if start is None else start
        if written is not None and start is not None:
            at = max(at, written - start)
        yield RecordedTurn(length, round(at, 3))
