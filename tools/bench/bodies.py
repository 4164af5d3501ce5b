"""Request bodies in the shape of coding-agent traffic, the same on every run."""

from __future__ import annotations

import json
import random
from typing import Any

_WORDS = [
    *("def", "return", "self", "import", "value", "error", "index", "config", "request"),
    *("response", "tokens", "session", "cache", "assert", "result", "path", "line", "test"),
    *("build", "module", "class", "stream", "header", "body", "marker", "store"),
]


def output_text(size: int, *, seed: int) -> str:
    """About `size` characters that look like a numbered listing of code."""
    chooser = random.Random(seed)  # noqa: S311  a reproducible text, not a secret
    lines: list[str] = []
    length = 0
    while length < size:
        line = f"{len(lines):5d}  " + " ".join(chooser.choices(_WORDS, k=chooser.randint(4, 12)))
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)


def agent_body(*, outputs: int, size: int, seed: int = 1, streams: bool = False) -> bytes:
    """A Messages request with `outputs` tool outputs of about `size` characters each."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Audit the package ({seed})."}]
    for number in range(outputs):
        call_id = f"toolu_{seed}_{number:05d}"
        call = {"type": "tool_use", "id": call_id, "name": "bash", "input": {"command": "cat x"}}
        text = {"type": "text", "text": f"Step {number}: I read the next file."}
        messages.append({"role": "assistant", "content": [text, call]})
        content = output_text(size, seed=seed * 100_003 + number)
        result = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        messages.append({"role": "user", "content": [result]})
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 16,
        "stream": streams,
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        "messages": messages,
    }
    return json.dumps(body, ensure_ascii=False).encode()


def one_result_body(size: int, *, seed: int = 5) -> bytes:
    """A Messages request whose one large tool output of `size` characters is not the newest."""
    short = json.loads(agent_body(outputs=2, size=100, seed=5))
    short["messages"][2]["content"][0]["content"] = output_text(size, seed=seed)
    return json.dumps(short, ensure_ascii=False).encode()


def json_result_body(size: int, *, seed: int) -> bytes:
    """The same with a JSON document as a tool writes it, indented."""
    short = json.loads(agent_body(outputs=2, size=100, seed=5))
    rows = [{"id": seed + n, "name": f"row {n}", "values": [n, 1.5]} for n in range(size // 110)]
    short["messages"][2]["content"][0]["content"] = json.dumps(rows, indent=2)
    return json.dumps(short, ensure_ascii=False).encode()


def plain_body(size: int) -> bytes:
    """A request of about `size` bytes without tools."""
    content = output_text(size, seed=7)
    message = {"role": "user", "content": content}
    return json.dumps(
        {"model": "claude-sonnet-5", "max_tokens": 16, "messages": [message]}
    ).encode()
