"""A session as Codex sends it: streamed Responses, stateless, with sealed reasoning.

It saves what the same session saves whose answers are JSON, and every marker in it opens.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dataplane.core.text import marker
from dataplane.replay.bodies import openai_messages
from dataplane.replay.importer import load
from tests import house
from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import Serve, Served

RECORDING = load(house.ROOT / "tests/data/trajectories/marshmallow-1867-function-calling.traj")
DOCUMENT = "pipeline: [dedup, format, mask, collapse]\ncomponents: {mask: {keep_recent: 2}}\n"
TOOLS = [
    {"type": "function", "name": tool["name"], "parameters": tool["input_schema"]}
    for tool in RECORDING.tools or ({"name": "shell", "input_schema": {"type": "object"}},)
]


def items(upto: int) -> Iterator[dict[str, Any]]:
    """The first messages of the recording as input items; each call is preceded by reasoning."""
    numbers = itertools.count()
    for said in itertools.chain.from_iterable(map(openai_messages, RECORDING.messages[:upto])):
        if said["role"] == "tool":
            output = {"call_id": said["tool_call_id"], "output": said["content"]}
            yield {"type": "function_call_output", **output}
            continue
        if said["content"]:
            yield {"type": "message", "role": said["role"], "content": said["content"]}
        for call in said.get("tool_calls", ()):
            yield {"type": "reasoning", "summary": [], "encrypted_content": f"e{next(numbers)}=="}
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def body(upto: int, *, streams: bool) -> bytes:
    asked = {
        "model": "gpt-5.6",
        "instructions": RECORDING.system or "You are a coding agent.",
        "input": list(items(upto)),
        "tools": TOOLS,
        "tool_choice": "auto",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": streams,
    }
    return json.dumps(asked, ensure_ascii=False).encode()


async def play(served: Served, *, streams: bool) -> list[dict[str, Any]]:
    """Send every turn as one session; what the provider got of each."""
    served.simulator.requests.clear()
    for turn in RECORDING.turns:
        answer = await served.post(
            body(turn.upto, streams=streams),
            path="/v1/responses",
            x_context_guru_session=f"streams-{streams}",
        )
        assert answer.status_code == 200
    return [json.loads(sent) for sent in served.sent]


def outputs(sent: dict[str, Any]) -> dict[str, str]:
    return {item["call_id"]: item["output"] for item in sent["input"] if "output" in item}


@pytest.fixture
def originals() -> set[str]:
    return {item["output"] for item in items(len(RECORDING.messages)) if "output" in item}


async def test_a_streamed_session_saves_what_the_same_session_in_json_saves(
    serve: Serve, originals: set[str]
) -> None:
    async with serve(DOCUMENT) as served:
        in_json = await play(served, streams=False)
        before = served.stats()["saved_tokens"]
        streamed = await play(served, streams=True)
        after = served.stats()["saved_tokens"]

        assert after == 2 * before > 0
        assert [sent.pop("stream") for sent in streamed] == [True] * len(RECORDING.turns)
        assert [{**sent, "stream": False} for sent in streamed] == in_json
        await every_marker_opens(served, streamed[-1], originals)


async def every_marker_opens(served: Served, sent: dict[str, Any], originals: set[str]) -> None:
    headers = {"x-context-guru-token": TA, "x-context-guru-session": "streams-True"}
    found = [each for text in outputs(sent).values() for each in marker.find(text)]
    for marker_id in found:
        opened = await served.send("GET", f"/expand?id={marker_id}", headers=headers)
        assert opened.status_code == 200
        assert opened.text in originals
    assert found
