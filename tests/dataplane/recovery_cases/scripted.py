"""What the provider is told to answer, and what it then saw; the words of 03 §10."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

from dataplane.core.wire.spans import elements, members, whole
from tests.dataplane.core.expand.scripts import Script
from tests.dataplane.gateway_cases.served import Served

Json = dict[str, Any]
X4000 = "x" * 4000
X4000_ID = "91c9568c40c8d8d1"
NAIVE = "naïve ✓\n" * 500
NAIVE_ID = "c4e9a6acac55dab2"
PLACEHOLDER = "[context_guru_expand: the original for id {id} is no longer available]"
STREAM = "text/event-stream; charset=utf-8"


def x(marker_id: object, call_id: str = "toolu_x") -> Json:
    """X(id): a call of the recovery tool. {"$marker": n} asks for the n-th marker."""
    wanted = {"id": marker_id}
    return {"type": "tool_use", "id": call_id, "name": "context_guru_expand", "input": wanted}


def r(name: str = "bash", call_id: str = "toolu_r") -> Json:
    """R(name): a call of another tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def raw(chunks: Iterable[bytes], content_type: str = STREAM, **round_: Any) -> Json:
    """A round of exactly these network writes."""
    written = [base64.b64encode(chunk).decode() for chunk in chunks]
    headers = {"content-type": content_type, **round_.pop("headers", {})}
    return {"raw_b64": written, "headers": headers, **round_}


def raw_stream(script: Script, **round_: Any) -> Json:
    return raw(script.chunks, **round_)


def raw_json(body: bytes, **round_: Any) -> Json:
    return raw([body], "application/json", **round_)


def message(*content: Json, stop_reason: str = "tool_use", **usage: int) -> bytes:
    """An Anthropic message spelled as no encoder of ours would spell it."""
    value = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5",
        "content": list(content), "stop_reason": stop_reason, "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, **usage},
    }  # fmt: skip
    return json.dumps(value, indent=1).encode()


def done(text: str = "done", **usage: int) -> bytes:
    return message({"type": "text", "text": text}, stop_reason="end_turn", **usage)


def member(body: bytes, name: str) -> bytes | None:
    """The raw bytes of a top-level member, None without it."""
    found = members(body, whole(body)).get(name)
    return body[found.value.start : found.value.end] if found else None


def items(body: bytes, name: str) -> list[bytes]:
    """The raw bytes of each element of a top-level array, none without it."""
    found = members(body, whole(body)).get(name)
    spans = elements(body, found.value) if found else []
    return [body[span.start : span.end] for span in spans]


def appended(requests: Sequence[bytes]) -> list[Any]:
    """What the second request says behind the messages of the first."""
    first, second = (items(body, "messages") for body in requests[:2])
    assert second[: len(first)] == first
    return [json.loads(element) for element in second[len(first) :]]


def results(requests: Sequence[bytes]) -> list[str]:
    """The texts that answered the model's calls in the second request, in their order."""
    _, answers = appended(requests)
    return [block["content"] for block in answers["content"]]


def expands(*rounds: bytes) -> list[Json]:
    return [raw_json(body) for body in rounds]


def ending(served: Served) -> dict[str, int]:
    """What became of recovery calls that were not answered, zeros left out."""
    found: dict[str, int] = served.stats()["recovery_endings"]
    return {name: count for name, count in found.items() if count}
