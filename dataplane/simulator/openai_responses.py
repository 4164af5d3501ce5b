"""The OpenAI Responses dialect, in JSON and SSE."""

from __future__ import annotations

from typing import Any

import msgspec

from dataplane.simulator import answer as say
from dataplane.simulator import parse
from dataplane.simulator.answer import Answer, Asked
from dataplane.simulator.cache import CacheUse, StepCache, tokens_of
from dataplane.simulator.openai_prompt import Prompt, read_responses
from dataplane.simulator.parse import Members
from dataplane.simulator.responses_events import events_of
from dataplane.simulator.script import Json, markers_in
from dataplane.simulator.stored import Stored, input_of

_INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
# What a response repeats of its request, and what it says where that says nothing.
_REPEATED: Json = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}


def responses(asked: Asked, cache: StepCache, stored: Stored) -> Answer:
    """POST /v1/responses."""
    top = parse.top_members(asked.body)
    earlier = stored.before(asked.credential, top)
    prompt = read_responses(top, earlier)
    content = say.content_of(
        asked.wanted,
        say.default_text(prompt.messages, tokens_of(len(prompt.rendered))),
        lambda: markers_in(msgspec.json.encode([earlier, top["input"]])),
    )
    use = cache.use(
        asked.owner(prompt.model), prompt.rendered, asked.now, lifetime_s=prompt.lifetime_s
    )
    usage = say.with_override(_usage(use, content), asked.wanted.usage)
    output = [_item(block, f"{asked.serial:08d}_{n}") for n, block in enumerate(content)]
    response = _response(asked, prompt, top, output) | {"usage": usage}
    reason = _INCOMPLETE.get(say.stop_reason_of(asked.wanted, content))
    if reason is not None:
        response |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    stored.keep(asked.credential, top, input_of(top), response)
    if prompt.stream:
        return say.sse_answer(list(events_of(response, asked.wanted)))
    if parse.is_true(top.get("background")):
        return say.json_answer({**response, "status": "queued", "output": [], "usage": None})
    return say.json_answer(response)


def _usage(use: CacheUse, content: list[Json]) -> Json:
    output = say.output_tokens(content)
    thought = [block for block in content if block.get("type") in {"thinking", "reasoning"}]
    return {
        "input_tokens": use.total,
        "input_tokens_details": {"cached_tokens": use.read, "cache_write_tokens": use.written},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": say.output_tokens(thought) * bool(thought)},
        "total_tokens": use.total + output,
    }


def _response(asked: Asked, prompt: Prompt, top: Members, output: list[Json]) -> Json:
    return {
        "id": f"resp_sim_{asked.serial:08d}",
        "object": "response",
        "created_at": int(asked.now),
        "status": "completed",
        "background": parse.is_true(top.get("background")),
        "error": None,
        "incomplete_details": None,
        "model": prompt.model,
        "output": output,
        **{name: _value(top.get(name), default) for name, default in _REPEATED.items()},
    }


def _value(written: msgspec.Raw | None, default: Any) -> Any:
    return default if written is None or parse.is_null(written) else written


def _item(block: Json, suffix: str) -> Json:
    """An output item; a block of a type that is no neutral one is an item already."""
    match block.get("type"):
        case "text":
            part = {"type": "output_text", "text": block["text"], "annotations": []}
            return {
                "type": "message",
                "id": f"msg_sim_{suffix}",
                "status": "completed",
                "role": "assistant",
                "content": [{**part, "logprobs": []}],
            }
        case "tool_use":
            return {
                "type": "function_call",
                "id": f"fc_sim_{suffix}",
                "call_id": block.get("id", f"call_sim_{suffix}"),
                "name": block["name"],
                "arguments": msgspec.json.encode(block.get("input", {})).decode(),
                "status": "completed",
            }
        case "thinking":
            summary = [{"type": "summary_text", "text": block["thinking"]}]
            item = {"type": "reasoning", "id": f"rs_sim_{suffix}", "summary": summary}
            encrypted = {"encrypted_content"} & block.keys()
            return item | {name: block[name] for name in encrypted}
        case "custom_tool_call":
            made = {"id": f"ctc_sim_{suffix}", "call_id": f"call_sim_{suffix}"}
            return {**made, "status": "completed", "input": "", **block}
    return block
