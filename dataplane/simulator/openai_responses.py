"""The OpenAI Responses dialect, in JSON and SSE."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dataplane.simulator import answer as say
from dataplane.simulator.answer import Answer, Asked
from dataplane.simulator.cache import CacheUse, StepCache, tokens_of
from dataplane.simulator.openai_prompt import Prompt, read_responses
from dataplane.simulator.script import Json, Round, markers_in

_INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}


def responses(asked: Asked, cache: StepCache) -> Answer:
    """POST /v1/responses."""
    prompt = read_responses(asked.body)
    content = say.content_of(
        asked.wanted,
        say.default_text(prompt.messages, tokens_of(len(prompt.rendered))),
        lambda: _markers(asked.body),
    )
    use = cache.use(
        asked.owner(prompt.model), prompt.rendered, asked.now, lifetime_s=prompt.lifetime_s
    )
    usage = say.with_override(_usage(use, content), asked.wanted.usage)
    output = [_item(block, f"{asked.serial:08d}_{n}") for n, block in enumerate(content)]
    response = _response(asked, prompt, output) | {"usage": usage}
    reason = _INCOMPLETE.get(say.stop_reason_of(asked.wanted, content))
    if reason is not None:
        response |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    if prompt.stream:
        return say.sse_answer(list(_events(response, asked.wanted)))
    return say.json_answer(response)


def _markers(body: bytes) -> list[str]:
    return markers_in(msgspec.json.decode(body, type=dict[str, msgspec.Raw])["input"])


def _usage(use: CacheUse, content: list[Json]) -> Json:
    output = say.output_tokens(content)
    return {
        "input_tokens": use.total,
        "input_tokens_details": {"cached_tokens": use.read, "cache_write_tokens": use.written},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": use.total + output,
    }


def _response(asked: Asked, prompt: Prompt, output: list[Json]) -> Json:
    return {
        "id": f"resp_sim_{asked.serial:08d}",
        "object": "response",
        "created_at": int(asked.now),
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": prompt.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


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
                "content": [part],
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
    return block


def _events(response: Json, wanted: Round) -> Iterator[bytes]:
    """The stream of a response, numbered, with the scripted error in it where there is one."""
    body = list(_body_events(response, wanted))
    error = wanted.error_event
    if error is not None:
        shape = {"type": "error", "code": error.type, "message": error.message, "param": None}
        events = [*body[: error.after], shape]
    else:
        events = [*body, {"type": f"response.{response['status']}", "response": response}]
    for number, event in enumerate(events):
        yield say.named_event({**event, "sequence_number": number})


def _body_events(response: Json, wanted: Round) -> Iterator[Json]:
    opening = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, item in enumerate(response["output"]):
        place = {"item_id": item.get("id"), "output_index": index}
        empty, inner = _taken_apart(item, place, wanted)
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
        yield from inner
        yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _taken_apart(item: Json, place: Json, wanted: Round) -> tuple[Json, Iterator[Json]]:
    """An item as it is added, and the events that complete it."""
    match item.get("type"):
        case "message":
            empty = {**item, "status": "in_progress", "content": []}
            return empty, _message_events(item, place, wanted)
        case "function_call":
            empty = {**item, "status": "in_progress", "arguments": ""}
            return empty, _call_events(item, place, wanted)
        case "reasoning":
            return {**item, "summary": []}, _summary_events(item, place, wanted)
    return item, iter(())


def _message_events(item: Json, place: Json, wanted: Round) -> Iterator[Json]:
    part = item["content"][0]
    at = {**place, "content_index": 0}
    yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    for piece in say.text_pieces(part["text"], wanted):
        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": part}


def _call_events(item: Json, place: Json, wanted: Round) -> Iterator[Json]:
    kind = "response.function_call_arguments"
    for piece in say.slices(item["arguments"], wanted.delta_chars):
        yield {"type": f"{kind}.delta", **place, "delta": piece}
    yield {
        "type": f"{kind}.done",
        **place,
        "name": item["name"],
        "arguments": item["arguments"],
    }


def _summary_events(item: Json, place: Json, wanted: Round) -> Iterator[Json]:
    part = item["summary"][0]
    at = {**place, "summary_index": 0}
    kind = "response.reasoning_summary"
    yield {"type": f"{kind}_part.added", **at, "part": {**part, "text": ""}}
    for piece in say.slices(part["text"], wanted.delta_chars):
        yield {"type": f"{kind}_text.delta", **at, "delta": piece}
    yield {"type": f"{kind}_text.done", **at, "text": part["text"]}
    yield {"type": f"{kind}_part.done", **at, "part": part}
