"""Scripted Responses, as a stream and as one body, and what a client's stream has to be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dataplane.core.expand.opening import open_relay
from dataplane.core.expand.relay import Relay
from dataplane.core.expand.terms import Terms
from dataplane.core.tools.tool import EXPAND
from dataplane.core.wire.message import Dialect
from tests.dataplane.core.expand.scripts import ID, Script, compact, data_of

Item = dict[str, Any]
DECLARED = [{"type": "function", "name": "read"}, {"type": "function", "name": EXPAND}]


def message(number: int, text: str) -> Item:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": f"msg_{number}",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }


def reasoning(number: int, **members: Any) -> Item:
    kept = {"encrypted_content": f"e{number}=="}
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], **(members or kept)}


def called(number: int, name: str = EXPAND, **members: Any) -> Item:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": json.dumps({"id": ID}),
        "status": "completed",
        **members,
    }


def usage(tokens: int) -> Item:
    return {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}


def response(number: int, *items: Item, status: str = "completed", **members: Any) -> Item:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_800_000_000,
        "model": "gpt-5.6",
        "status": status,
        "error": None,
        "tools": DECLARED,
        "output": list(items),
        "usage": usage(100 * number),
        **members,
    }


def body(number: int, *items: Item, **members: Any) -> Script:
    return Script([compact(response(number, *items, **members))])


def stream(number: int, *items: Item, **members: Any) -> Script:
    """The events of a response, one item after the other, one chunk each."""
    whole = response(number, *items, **members)
    events = numbered([*opening(whole), *each_item(items), ending(whole)])
    return Script([wire(event) for event in events])


def numbered(events: Sequence[Item]) -> list[Item]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def wire(event: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), compact(event))


def opening(whole: Item) -> Iterator[Item]:
    begun = {**whole, "status": "in_progress", "error": None, "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}


def ending(whole: Item) -> Item:
    return {"type": f"response.{whole['status']}", "response": whole}


def each_item(items: Sequence[Item]) -> Iterator[Item]:
    for place, item in enumerate(items):
        yield added(place, item)
        yield from pieces(place, item)
        yield done(place, item)


def added(place: int, item: Item) -> Item:
    emptied: dict[str, Item] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    begun = {**item, "status": "in_progress", **emptied.get(item["type"], {})}
    return {"type": "response.output_item.added", "output_index": place, "item": begun}


def done(place: int, item: Item) -> Item:
    return {"type": "response.output_item.done", "output_index": place, "item": item}


def pieces(place: int, item: Item) -> Iterator[Item]:
    at = {"item_id": item["id"], "output_index": place}
    if item["type"] == "function_call":
        kind = "response.function_call_arguments"
        for start in range(0, len(item["arguments"]), 7):
            yield {"type": f"{kind}.delta", "delta": item["arguments"][start : start + 7], **at}
        yield {"type": f"{kind}.done", "arguments": item["arguments"], **at}
    elif item["type"] == "message":
        yield from _text(item["content"][0], {**at, "content_index": 0})


def _text(part: Item, at: Item) -> Iterator[Item]:
    yield {"type": "response.content_part.added", "part": {**part, "text": ""}, **at}
    for start in range(0, len(part["text"]), 5):
        delta = part["text"][start : start + 5]
        yield {"type": "response.output_text.delta", "delta": delta, "logprobs": [], **at}
    yield {"type": "response.output_text.done", "text": part["text"], "logprobs": [], **at}
    yield {"type": "response.content_part.done", "part": part, **at}


def relay(*, streams: bool = True, stores: bool = True, declared: bool = True) -> Relay:
    return open_relay(
        dialect=Dialect.OPENAI_RESPONSES,
        status=200,
        content_type="text/event-stream" if streams else "application/json",
        interceptable=True,
        terms=Terms(stores=stores, declared=declared),
    )


def faults(stream: bytes) -> list[str]:
    """What is wrong with a client's stream; nothing for one that was all one response."""
    events = list(data_of(stream))
    found = []
    if [event["sequence_number"] for event in events] != list(range(len(events))):
        found.append(f"numbers {[event['sequence_number'] for event in events]}")
    known = {event["response"]["id"] for event in events if "response" in event}  # type: ignore[index]
    if len(known) > 1:
        found.append(f"ids {known}")
    return found + list(_misplaced(events))


def _misplaced(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    running: dict[int, str] = {}
    finished: dict[int, Item] = {}
    for event in events:
        place = event.get("output_index", -1)
        if event["type"] == "response.output_item.added":
            if place != len(running) + len(finished):
                yield f"{event['item']['id']} was added at {place}"
            running[place] = event["item"]["id"]
        elif place >= 0 and event.get("item_id", running.get(place)) != running.get(place):
            yield f"{event['type']} of {event['item_id']} at {place}"
        if event["type"] == "response.output_item.done":
            if running.pop(place, None) != event["item"]["id"]:
                yield f"{event['item']['id']} was done at {place}"
            finished[place] = event["item"]
    last = events[-1]
    if last["type"] == "response.completed" and last["response"]["output"] != [
        finished[place] for place in sorted(finished)
    ]:
        yield f"completed with {[item['id'] for item in last['response']['output']]}"
