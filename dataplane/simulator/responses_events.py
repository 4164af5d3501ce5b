"""The events of a streamed response, in the provider's order and numbered.

Source: the provider's published event types; each carries `sequence_number`, those of an item its
place and id, and the first and last ones the whole response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dataplane.simulator import answer as say
from dataplane.simulator.script import Json, Round

Part = Callable[[int, Json, Json, Round], Iterator[Json]]


def events_of(response: Json, wanted: Round) -> Iterator[bytes]:
    """The stream of a response, with the scripted error in it where there is one."""
    body = list(_events(response, wanted))
    error = wanted.error_event
    if error is not None:
        shape = {"type": "error", "code": error.type, "message": error.message, "param": None}
        events = [*body[: error.after], shape]
    else:
        events = [*body, {"type": f"response.{response['status']}", "response": response}]
    for number, event in enumerate(events):
        yield say.named_event({**event, "sequence_number": number})


def _events(response: Json, wanted: Round) -> Iterator[Json]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    yield {"type": "response.created", "response": begun}
    if response["background"]:
        yield {"type": "response.queued", "response": {**begun, "status": "queued"}}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"item_id": item.get("id"), "output_index": index}
        added, inner = _taken_apart(item, place, wanted)
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        yield from inner
        yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _taken_apart(item: Json, place: Json, wanted: Round) -> tuple[Json, Iterator[Json]]:
    """An item as it is added, and the events that complete it."""
    begun = {**item, "status": "in_progress"}
    match item.get("type"):
        case "message":
            return {**begun, "content": []}, _each(item["content"], place, wanted, _content)
        case "function_call":
            kind = "response.function_call_arguments"
            return {**begun, "arguments": ""}, _written(kind, "arguments", item, place, wanted)
        case "custom_tool_call":
            kind = "response.custom_tool_call_input"
            return {**begun, "input": ""}, _written(kind, "input", item, place, wanted)
        case "reasoning":
            return {**item, "summary": []}, _reasoning(item, place, wanted)
        case "web_search_call":
            return begun, _searched(place)
    return item, iter(())


def _each(parts: list[Json], place: Json, wanted: Round, of_part: Part) -> Iterator[Json]:
    for number, part in enumerate(parts):
        yield from of_part(number, part, place, wanted)


def _content(number: int, part: Json, place: Json, wanted: Round) -> Iterator[Json]:
    """One part of a message: a text, or a refusal."""
    at = {**place, "content_index": number}
    member = "refusal" if part["type"] == "refusal" else "text"
    kind = "response.refusal" if member == "refusal" else "response.output_text"
    more: Json = {} if member == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **at, "part": {**part, member: ""}}
    for piece in say.text_pieces(part[member], wanted):
        yield {"type": f"{kind}.delta", **at, "delta": piece, **more}
    for index, annotation in enumerate(part.get("annotations", ())):
        noted = {"annotation_index": index, "annotation": annotation}
        yield {"type": "response.output_text.annotation.added", **at, **noted}
    yield {"type": f"{kind}.done", **at, member: part[member], **more}
    yield {"type": "response.content_part.done", **at, "part": part}


def _written(kind: str, member: str, item: Json, place: Json, wanted: Round) -> Iterator[Json]:
    """What a model writes for a tool: the arguments of a function, or any text."""
    for piece in say.slices(item[member], wanted.delta_chars):
        yield {"type": f"{kind}.delta", **place, "delta": piece}
    named = {"name": item["name"]} if member == "arguments" else {}
    yield {"type": f"{kind}.done", **place, **named, member: item[member]}


def _reasoning(item: Json, place: Json, wanted: Round) -> Iterator[Json]:
    """The summary, and the reasoning itself where a model shows it."""
    yield from _each(item["summary"], place, wanted, _summary)
    for number, part in enumerate(item.get("content") or ()):
        at = {**place, "content_index": number}
        kind = "response.reasoning_text"
        for piece in say.slices(part["text"], wanted.delta_chars):
            yield {"type": f"{kind}.delta", **at, "delta": piece}
        yield {"type": f"{kind}.done", **at, "text": part["text"]}


def _summary(number: int, part: Json, place: Json, wanted: Round) -> Iterator[Json]:
    at = {**place, "summary_index": number}
    kind = "response.reasoning_summary"
    yield {"type": f"{kind}_part.added", **at, "part": {**part, "text": ""}}
    for piece in say.slices(part["text"], wanted.delta_chars):
        yield {"type": f"{kind}_text.delta", **at, "delta": piece}
    yield {"type": f"{kind}_text.done", **at, "text": part["text"]}
    yield {"type": f"{kind}_part.done", **at, "part": part}


def _searched(place: Json) -> Iterator[Json]:
    for step in ("in_progress", "searching", "completed"):
        yield {"type": f"response.web_search_call.{step}", **place}
