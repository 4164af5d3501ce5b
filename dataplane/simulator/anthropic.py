"""The Anthropic dialect: Messages in JSON and SSE, token counts and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dataplane.simulator import answer as say
from dataplane.simulator.answer import Answer, Asked
from dataplane.simulator.anthropic_prompt import Prompt, read_prompt
from dataplane.simulator.cache import BreakpointCache, CacheUse
from dataplane.simulator.problem import SERVER_FAULT, ProviderError
from dataplane.simulator.script import Json, Round, markers_in

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_answer(error: ProviderError) -> Answer:
    """An error in the provider's shape; param and code are another dialect's."""
    fallback = "api_error" if error.status >= SERVER_FAULT else "invalid_request_error"
    shape = {
        "type": error.kind or _KINDS.get(error.status, fallback),
        "message": error.message,
    }
    return say.json_answer({"type": "error", "error": shape}, status=error.status)


def count_tokens(asked: Asked) -> Answer:
    """POST /v1/messages/count_tokens."""
    return say.json_answer({"input_tokens": read_prompt(asked.body, needs_max_tokens=False).tokens})


def messages(asked: Asked, cache: BreakpointCache) -> Answer:
    """POST /v1/messages."""
    prompt = read_prompt(asked.body)
    content = _content(asked, prompt)
    use = cache.use(asked.owner(prompt.model), prompt.blocks, asked.now)
    usage = say.with_override(_usage(use, content), asked.wanted.usage)
    message = {
        "id": f"msg_sim_{asked.serial:08d}",
        "type": "message",
        "role": "assistant",
        "model": prompt.model,
        "content": content,
        "stop_reason": say.stop_reason_of(asked.wanted, content),
        "stop_sequence": None,
        "usage": usage,
    }
    if prompt.stream:
        return say.sse_answer(list(_events(message, asked.wanted)))
    return say.json_answer(message)


def _content(asked: Asked, prompt: Prompt) -> list[Json]:
    """The blocks of the answer, ids and signatures filled in."""
    default = say.default_text(prompt.messages, prompt.tokens)
    content = say.content_of(asked.wanted, default, lambda: _markers(asked.body))
    if prompt.thinks and asked.wanted.content is None:
        content.insert(0, {"type": "thinking", "thinking": "The request is plain."})
    return [_finished(block, f"{asked.serial:08d}_{n}") for n, block in enumerate(content)]


def _markers(body: bytes) -> list[str]:
    return markers_in(msgspec.json.decode(body, type=dict[str, msgspec.Raw])["messages"])


def _finished(block: Json, suffix: str) -> Json:
    match block.get("type"):
        case "tool_use":
            return {"type": "tool_use", "id": f"toolu_sim_{suffix}", "input": {}, **block}
        case "thinking":
            return {"signature": say.signature_of(block.get("thinking", "")), **block}
    return block


def _usage(use: CacheUse, content: list[Json]) -> Json:
    return {
        "input_tokens": use.fresh,
        "cache_creation_input_tokens": use.written,
        "cache_read_input_tokens": use.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": use.written_5m,
            "ephemeral_1h_input_tokens": use.written_1h,
        },
        "output_tokens": say.output_tokens(content),
        "service_tier": "standard",
    }


def _events(message: Json, wanted: Round) -> Iterator[bytes]:
    """The stream of a message, with the scripted error in it where there is one."""
    body = [say.named_event(event) for event in _body_events(message, wanted)]
    error = wanted.error_event
    if error is None:
        yield from body
        yield from (say.named_event(event) for event in _last_events(message))
        return
    yield from body[: error.after]
    yield say.named_event(
        {"type": "error", "error": {"type": error.type, "message": error.message}}
    )


def _body_events(message: Json, wanted: Round) -> Iterator[Json]:
    opening_usage = {**message["usage"], "output_tokens": 1}
    opening: Json = {"content": [], "stop_reason": None, "usage": opening_usage}
    yield {"type": "message_start", "message": {**message, **opening}}
    for index, block in enumerate(message["content"]):
        empty, deltas = _taken_apart(block, wanted)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def _last_events(message: Json) -> Iterator[Json]:
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage: dict[str, Any] = {"output_tokens": message["usage"]["output_tokens"]}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _taken_apart(block: Json, wanted: Round) -> tuple[Json, list[Json]]:
    """A block as it starts, and the deltas that complete it."""
    match block.get("type"):
        case "text":
            pieces = say.text_pieces(block["text"], wanted)
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
            return {**block, "text": ""}, deltas
        case "thinking":
            pieces = say.slices(block["thinking"], wanted.delta_chars)
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            spelled = msgspec.json.encode(block.get("input", {})).decode()
            pieces = ["", *say.slices(spelled, wanted.delta_chars)]
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece} for piece in pieces
            ]
    return block, []
