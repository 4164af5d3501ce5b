"""Requests that several tests send: the smallest of each dialect, and through each client."""

from __future__ import annotations

from typing import Any

import anthropic

ANTHROPIC = {"x-api-key": "sk-1", "anthropic-version": "2023-06-01"}
OPENAI = {"authorization": "Bearer sk-1"}
ASK: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hello"}],
}
RESPOND: dict[str, Any] = {"model": "m", "input": "Hello"}

MODEL = "claude-sonnet-5"
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
TOOLS: list[Any] = [
    {
        "name": "bash",
        "description": "Run a command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
    }
]


async def ask(claude: anthropic.AsyncAnthropic, **changes: Any) -> Any:
    request: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": HELLO, **changes}
    return await claude.messages.create(**request)


def result(tool_id: str, **changes: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_id, "content": "out", **changes}


def use(tool_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_id, "name": "bash", "input": {}}
