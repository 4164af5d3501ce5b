"""Request bodies that are nearly as they should be: valid ones with a few things done to them.

What arbitrary JSON holds is seldom looked at; a body with one wrong member is, up to that member.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from dataplane.core.wire.message import Dialect
from tests.dataplane.core.build import M_ID, M

HUGE = "a number of five thousand digits"
MARKER = f"<<cg:{M_ID}>>"
JSON_OUTPUT = json.dumps([{"row": row, "value": row * row} for row in range(9)], indent=2)
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
SYSTEM = "You fix tests. " * 300 + "\nRecent commits:\nx"
EPHEMERAL = {"type": "ephemeral", "ttl": "1h"}

ANTHROPIC = {
    "model": "claude-sonnet-5",
    "max_tokens": 64,
    "stream": True,
    "system": [{"type": "text", "text": SYSTEM, "cache_control": EPHEMERAL}],
    "tools": [{"name": "bash", "input_schema": SCHEMA}],
    "tool_choice": {"type": "auto"},
    "thinking": {"type": "enabled", "budget_tokens": 32},
    "metadata": {"user_id": json.dumps({"session_id": "s1"})},
    "messages": [
        {"role": "user", "content": "Fix the test."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "c2", "name": "bash", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": M},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "is_error": False,
                    "content": [{"type": "text", "text": JSON_OUTPUT}],
                    "cache_control": EPHEMERAL,
                },
                {"type": "tool_result", "tool_use_id": "c3", "content": M},
            ],
        },
        {"role": "user", "content": f"What was {MARKER}?"},
    ],
}
CHAT = {
    "model": "gpt-5",
    "n": 1,
    "stream": False,
    "store": False,
    "prompt_cache_key": "s1",
    "tools": [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}],
    "tool_choice": "auto",
    "metadata": {"session_id": "s1"},
    "messages": [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": [{"type": "text", "text": "Fix the test."}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": M},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": JSON_OUTPUT}]},
        {"role": "tool", "tool_call_id": "c3", "content": M},
        {"role": "developer", "content": f"What was {MARKER}?"},
    ],
}
RESPONSES = {
    "model": "gpt-5",
    "stream": True,
    "store": True,
    "instructions": SYSTEM,
    "previous_response_id": "resp_1",
    "prompt_cache_key": "s1",
    "tools": [{"type": "function", "name": "bash", "parameters": SCHEMA}],
    "tool_choice": {"type": "function", "name": "bash"},
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Fix the test."}]},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "[1, 2]"},
        {"type": "function_call_output", "call_id": "c1", "output": M},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": JSON_OUTPUT}],
        },
        {"type": "function_call_output", "call_id": "c3", "output": M},
        {"type": "message", "role": "user", "content": f"What was {MARKER}?"},
    ],
}
VALID: dict[Dialect, dict[str, Any]] = {
    Dialect.ANTHROPIC: ANTHROPIC,
    Dialect.OPENAI_CHAT: CHAT,
    Dialect.OPENAI_RESPONSES: RESPONSES,
}
# A text that the model asked back, and what an agent that knows no such tool answers on its own.
NAMED = {"name": "context_guru_expand", "arguments": json.dumps({"id": M_ID})}
ASKED = {"type": "tool_use", "id": "e1", "name": "context_guru_expand", "input": {"id": M_ID}}
UNKNOWN = {"type": "tool_result", "tool_use_id": "e1", "is_error": True, "content": "no such tool"}
RECOVERIES: dict[Dialect, list[dict[str, Any]]] = {
    Dialect.ANTHROPIC: [
        {"role": "assistant", "content": [ASKED]},
        {"role": "user", "content": [UNKNOWN]},
    ],
    Dialect.OPENAI_CHAT: [
        {"role": "assistant", "tool_calls": [{"id": "e1", "type": "function", "function": NAMED}]},
        {"role": "tool", "tool_call_id": "e1", "content": "no such tool"},
    ],
    Dialect.OPENAI_RESPONSES: [
        {"type": "function_call", "call_id": "e1", **NAMED},
        {"type": "function_call_output", "call_id": "e1", "output": "no such tool"},
    ],
}
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2, 1.5, "", "c1", "user", "text", "\ud800", "\ud83d\ude00", HUGE),
    *([], {}, [[]], [None], [{}], {"type": "text"}, {"role": "tool"}, ["a", 1], {"text": [M]}),
    *(M * 9, MARKER, {"type": "compaction"}, "context_guru_expand", NAMED, ASKED),
)
NAMES = (
    *("role", "content", "type", "text", "id", "call_id", "tool_calls", "cache_control", "input"),
    *("messages", "output", "compaction", "system", "tools", "n", ""),
)
REPEATED = ("content", "role", "type", "model")

Place = tuple[Any, Any]
"""A list or an object of a body, and which of its members."""


def places(tree: Any) -> Iterator[Place]:
    """Where something can be done, outermost first."""
    if isinstance(tree, dict | list):
        inside = list(tree.items() if isinstance(tree, dict) else enumerate(tree))
        yield from ((tree, name) for name, _ in inside)
        for _, member in inside:
            yield from places(member)


ELSEWHERE = [block[name] for body in VALID.values() for block, name in places(body)]
PIECES = st.sampled_from(ODD) | st.sampled_from(ELSEWHERE)


def replace(place: Place, draw: st.DrawFn) -> None:
    """By something odd, or by what stands elsewhere in a body of any dialect."""
    block, name = place
    block[name] = copy.deepcopy(draw(PIECES))


def remove(place: Place, draw: st.DrawFn) -> None:
    block, name = place
    del block[name]


def empty(place: Place, draw: st.DrawFn) -> None:
    block, name = place
    block[name] = type(block[name])()


def nest(place: Place, draw: st.DrawFn) -> None:
    block, name = place
    block[name] = [block[name]]


def add(place: Place, draw: st.DrawFn) -> None:
    """One more element or member beside it."""
    block, name = place
    piece = copy.deepcopy(draw(PIECES))
    if isinstance(block, list):
        block.insert(name, piece)
    else:
        block[draw(st.sampled_from(NAMES))] = piece


RECOVERED = st.booleans()
DEEDS = (replace, remove, add, empty, nest)


@st.composite
def bodies(
    draw: st.DrawFn, dialect: Dialect, recovered: st.SearchStrategy[bool] = RECOVERED
) -> bytes:
    """A body of the dialect to which up to four things were done; it shrinks towards the valid one.

    Numbers of five thousand digits, lone surrogates and keys that are there twice are among them.
    recovered: whether the model asked for an original in it.
    """
    body: dict[str, Any] = copy.deepcopy(VALID[dialect])
    if draw(recovered):
        body[dialect.list_name] += copy.deepcopy(RECOVERIES[dialect])
    for deed in draw(st.lists(st.sampled_from(DEEDS), max_size=4)):
        found = list(places(body))
        if found:  # as often to a member of the body itself as anywhere in it
            first = draw(st.sampled_from((len(body), len(found))))
            deed(found[draw(st.integers(0, first - 1))], draw)
    written = json.dumps(body).replace(f'"{HUGE}"', "1" * 5000)
    again = draw(st.sampled_from((None, None, None, None, *REPEATED)))
    if again is not None:
        written = written.replace(f'"{again}": ', f'"{again}": "x", "{again}": ')
    return written.encode()
