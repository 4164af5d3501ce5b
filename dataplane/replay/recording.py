"""A recorded agent session: what was sent, turn by turn, and when.

Every reader turns its file into this one Anthropic-shaped form; `bodies` writes requests from it.
Source: 00-start-here.md 1 (real input); tests/data/README.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Json = dict[str, Any]


class RecordingError(ValueError):
    """A file that is no recording, or one that breaks off; the sentence says where."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """At second `at` after the first turn the agent sent the first `upto` messages."""

    upto: int
    at: float


@dataclass(frozen=True, slots=True)
class Recording:
    """messages: Anthropic-shaped, each content a list of blocks, roles alternating.

    model: "" where the file names none. system: "" where the file keeps none.
    """

    name: str
    model: str
    system: str
    tools: tuple[Json, ...]
    messages: tuple[Json, ...]
    turns: tuple[RecordedTurn, ...]

    def resumed(self, turn: int) -> Recording:
        """From that turn on, counted from 1, as an agent that comes back with its history sends it.

        RecordingError when there is no such turn.
        """
        rest = self.turns[turn - 1 :]
        if turn < 1 or not rest:
            raise RecordingError(f"{self.name} has {len(self.turns)} turns, so no turn {turn}")
        return replace(self, turns=tuple(replace(t, at=t.at - rest[0].at) for t in rest))


def blocks(content: object) -> list[Json]:
    """A message's content as a list of blocks; a plain string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []


def merged(messages: Iterable[Json]) -> list[Json]:
    """Neighbours of one role as one message, which is how an agent sends them."""
    result: list[Json] = []
    for message in messages:
        if result and result[-1]["role"] == message["role"]:
            result[-1] = {**message, "content": result[-1]["content"] + message["content"]}
        elif message["content"]:
            result.append(message)
    return result


def without_unanswered_calls(messages: Sequence[Json]) -> list[Json]:
    """Drop tool calls that no later message answers: a provider refuses such a request."""
    answered = {
        block.get("tool_use_id") for m in messages for block in m["content"] if is_result(block)
    }
    kept = (
        {**m, "content": [b for b in m["content"] if is_sendable(b, answered)]} for m in messages
    )
    return merged(kept)


def is_result(block: Mapping[str, object]) -> bool:
    return block.get("type") == "tool_result"


def is_call(block: Mapping[str, object]) -> bool:
    return block.get("type") == "tool_use"


def is_sendable(block: Mapping[str, object], answered: set[object]) -> bool:
    return not is_call(block) or block.get("id") in answered


def requests_in(messages: Sequence[Json]) -> Iterator[int]:
    """Lengths at which the agent asked: each run of messages that ends with the user's."""
    for index, message in enumerate(messages, start=1):
        if message["role"] == "user":
            yield index


def tools_called_in(messages: Sequence[Json]) -> tuple[Json, ...]:
    """Definitions of the tools that were called, for a file that keeps no definitions.

    Each takes the members that its calls had, as strings or whatever the first call passed.
    """
    arguments: dict[str, dict[str, object]] = {}
    for message in messages:
        for block in filter(is_call, message["content"]):
            arguments.setdefault(block["name"], {}).update(block.get("input") or {})
    return tuple(tool(name, called) for name, called in sorted(arguments.items()))


def tool(name: str, called_with: Mapping[str, object]) -> Json:
    properties = {member: {"type": json_type(value)} for member, value in called_with.items()}
    return {
        "name": name,
        "description": f"Run {name}.",
        "input_schema": {"type": "object", "properties": properties},
    }


def json_type(value: object) -> str:
    by_type = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return by_type.get(type(value), "string")
