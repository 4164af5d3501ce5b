"""Reads a SWE-agent trajectory: `history` of system, user, assistant and tool messages.

A trajectory records how long each command ran but not how long the model took, so a fixed time is
assumed for the latter. It keeps no tool definitions: they are taken from the calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from dataplane.replay.recording import (
    Json,
    RecordedTurn,
    Recording,
    RecordingError,
    blocks,
    merged,
    requests_in,
    tools_called_in,
    without_unanswered_calls,
)

ASSUMED_ANSWER_S = 10.0


def is_trajectory(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("history"), list)


def read(value: Json, name: str) -> Recording:
    """The recording; RecordingError when the history holds nothing that could be sent."""
    history: list[Json] = value["history"]
    system = "\n\n".join(str(m["content"]) for m in history if m["role"] == "system")
    messages = without_unanswered_calls(merged(conversation(history)))
    if not messages:
        raise RecordingError(f"{name}: the history holds no message of a user")
    lengths = list(requests_in(messages))
    times = accumulate(seconds_between(value.get("trajectory") or [], len(lengths)))
    return Recording(
        name=name,
        model="",
        system=system,
        tools=tools_called_in(messages),
        messages=tuple(messages),
        turns=tuple(RecordedTurn(*pair) for pair in zip(lengths, times, strict=True)),
    )


def conversation(history: Sequence[Json]) -> Iterator[Json]:
    """The history without its system messages, Anthropic-shaped."""
    ids = CallIds()
    for message in history:
        match message["role"]:
            case "user":
                yield {"role": "user", "content": blocks(message["content"])}
            case "assistant":
                calls = [call_block(call, ids) for call in message.get("tool_calls") or []]
                yield {"role": "assistant", "content": blocks(message["content"]) + calls}
            case "tool":
                yield {"role": "user", "content": list(result_blocks(message, ids))}


class CallIds:
    """Ids of calls, each used once: a run made from a demonstration repeats the ids of that one,
    which a provider refuses. A result belongs to the latest call of its id.
    """

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def of_call(self, recorded: str) -> str:
        self._uses[recorded] += 1
        return self.of_result(recorded)

    def of_result(self, recorded: str) -> str:
        uses = self._uses[recorded]
        return recorded if uses <= 1 else f"{recorded}_{uses}"


def call_block(call: Json, ids: CallIds) -> Json:
    function = call["function"]
    return {
        "type": "tool_use",
        "id": ids.of_call(call["id"]),
        "name": function["name"],
        "input": arguments(function["arguments"]),
    }


def arguments(written: str) -> Json:
    """A call's arguments; text that is no JSON object becomes the only member of one."""
    try:
        return msgspec.json.decode(written, type=dict)
    except msgspec.DecodeError:
        return {"arguments": written}


def result_blocks(message: Json, ids: CallIds) -> Iterator[Json]:
    """One result a call: the first carries the output, since the history joins them into one."""
    for position, call_id in enumerate(message["tool_call_ids"]):
        text = str(message["content"]) if position == 0 else ""
        yield {"type": "tool_result", "tool_use_id": ids.of_result(call_id), "content": text}


def seconds_between(steps: Sequence[Json], turns: int) -> Iterator[float]:
    """Seconds from each turn to the next, beginning with the first turn's 0."""
    yield 0.0
    for index in range(turns - 1):
        ran_s = steps[index].get("execution_time", 0.0) if index < len(steps) else 0.0
        yield ASSUMED_ANSWER_S + float(ran_s)
