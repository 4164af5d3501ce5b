"""Writes the request of one recorded turn as an agent would send it, in either dialect.

The same turn is always the same bytes, and a later turn repeats an earlier one's messages in the
same spelling, apart from the cache breakpoints, which move to the newest message as agents move
them (03-proxy-and-recovery.md 2.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from dataplane.replay.recording import Json, Recording, is_call, is_result

Dialect = Literal["anthropic", "openai"]
_MARKS: dict[str, Json | None] = {
    "5m": {"type": "ephemeral"},
    "1h": {"type": "ephemeral", "ttl": "1h"},
    "none": None,
}


@dataclass(frozen=True, slots=True)
class Style:
    """How requests are written. cache_ttl: of every breakpoint, "none" for a client that sets none;
    Anthropic only.
    """

    dialect: Dialect
    model: str
    max_tokens: int = 1024
    stream: bool = False
    cache_ttl: Literal["5m", "1h", "none"] = "5m"


def body(recording: Recording, upto: int, style: Style) -> bytes:
    """The JSON body that carries the first upto messages."""
    write = anthropic if style.dialect == "anthropic" else openai
    return msgspec.json.encode(write(recording, upto, style))


def anthropic(recording: Recording, upto: int, style: Style) -> Json:
    """Breakpoints stand on the last tool, the system prompt and the newest message."""
    mark = _MARKS[style.cache_ttl]
    system = [{"type": "text", "text": recording.system}] if recording.system else []
    *earlier, newest = recording.messages[:upto]
    request: Json = {"model": style.model, "max_tokens": style.max_tokens}
    if recording.tools:
        request["tools"] = last_marked(recording.tools, mark)
    if system:
        request["system"] = last_marked(system, mark)
    content = last_marked(newest["content"], mark)
    request["messages"] = [*earlier, {**newest, "content": content}]
    if style.stream:
        request["stream"] = True
    return request


def last_marked(items: Sequence[Json], mark: Json | None) -> list[Json]:
    *before, last = items
    return [*before, {**last, "cache_control": mark} if mark else last]


def openai(recording: Recording, upto: int, style: Style) -> Json:
    messages: list[Json] = []
    if recording.system:
        messages.append({"role": "system", "content": recording.system})
    for message in recording.messages[:upto]:
        messages += openai_messages(message)
    request: Json = {"model": style.model, "max_completion_tokens": style.max_tokens}
    if recording.tools:
        request["tools"] = [openai_tool(tool) for tool in recording.tools]
    request["messages"] = messages
    if style.stream:
        request |= {"stream": True, "stream_options": {"include_usage": True}}
    return request


def openai_tool(tool: Json) -> Json:
    function = {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool["input_schema"],
    }
    return {"type": "function", "function": function}


def openai_messages(message: Json) -> Iterator[Json]:
    """One Anthropic message as one or more of OpenAI's: every tool result is a message there."""
    said = "\n\n".join(texts(message["content"]))
    if message["role"] == "assistant":
        yield openai_answer(said, [b for b in message["content"] if is_call(b)])
        return
    for block in filter(is_result, message["content"]):
        content = result_text(block)
        yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": content}
    if said:
        yield {"role": "user", "content": said}


def openai_answer(said: str, calls: Sequence[Json]) -> Json:
    answer: Json = {"role": "assistant", "content": said or None}
    if calls:
        answer["tool_calls"] = [openai_call(call) for call in calls]
    return answer if said or calls else {"role": "assistant", "content": ""}


def openai_call(call: Json) -> Json:
    arguments = msgspec.json.encode(call["input"]).decode()
    function = {"name": call["name"], "arguments": arguments}
    return {"id": call["id"], "type": "function", "function": function}


def texts(blocks: Sequence[Json]) -> Iterator[str]:
    return (str(block["text"]) for block in blocks if block.get("type") == "text")


def result_text(block: Json) -> str:
    """The text of a tool result; parts that are no text have no place in this dialect's string."""
    content = block.get("content", "")
    return content if isinstance(content, str) else "\n".join(texts(content))
