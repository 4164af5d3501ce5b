"""Scripted upstream responses, and a client that plays them through a relay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dataplane.core.expand.opening import open_relay
from dataplane.core.expand.relay import Answer, Call, Deliver, Relay, ToolResult
from dataplane.core.tools.tool import EXPAND, answer_text
from dataplane.core.wire.message import Dialect

ID = "91c9568c40c8d8d1"
ORIGINAL = "naïve ✓\n" * 3
Json = Mapping[str, object]


@dataclass(frozen=True)
class Script:
    """One upstream response body, as the chunks in which it arrives. cut: it broke off."""

    chunks: Sequence[bytes]
    cut: bool = False

    def split(self, size: int) -> Script:
        body = b"".join(self.chunks)
        return Script([body[at : at + size] for at in range(0, len(body), size)], self.cut)

    def split_at(self, at: int) -> Script:
        body = b"".join(self.chunks)
        return Script([body[:at], body[at:]], self.cut)

    def with_crlf(self) -> Script:
        return Script([chunk.replace(b"\n", b"\r\n") for chunk in self.chunks], self.cut)

    def until(self, text: bytes) -> Script:
        """The same response, broken off just before this text."""
        return Script([b"".join(self.chunks).partition(text)[0]], cut=True)

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


@dataclass
class Played:
    """sent: what the client got, by feed call. requests: the messages of each continuation."""

    relay: Relay
    sent: list[bytes]
    requests: list[tuple[bytes, ...]]
    calls: list[tuple[Call, ...]]
    delivered: Deliver

    @property
    def client(self) -> bytes:
        return b"".join(self.sent)

    @property
    def outcome(self) -> str:
        return self.delivered.outcome.value

    def appended(self) -> list[list[object]]:
        return [[json.loads(message) for message in request] for request in self.requests]


def stream_relay(dialect: Dialect = Dialect.ANTHROPIC, *, interceptable: bool = True) -> Relay:
    return open_relay(
        dialect=dialect,
        status=200,
        content_type="text/event-stream; charset=utf-8",
        interceptable=interceptable,
    )


def body_relay(dialect: Dialect = Dialect.ANTHROPIC, *, interceptable: bool = True) -> Relay:
    return open_relay(
        dialect=dialect,
        status=200,
        content_type="application/json",
        interceptable=interceptable,
    )


def play(relay: Relay, *rounds: Script | None) -> Played:
    """Play the rounds; None is a continuation that was refused. Ours are answered by ORIGINAL."""
    sent: list[bytes] = []
    requests: list[tuple[bytes, ...]] = []
    calls: list[tuple[Call, ...]] = []
    for script in rounds:
        if script is None:
            delivered = relay.round_failed()
            break
        if requests:
            relay.next_round()
        sent += [relay.feed(chunk) for chunk in script.chunks]
        verdict = relay.end_round(complete=not script.cut)
        if isinstance(verdict, Deliver):
            delivered = verdict
            break
        calls.append(verdict.calls)
        requests.append(relay.continuation(_results(verdict)))
    else:
        raise AssertionError("the relay wants another round than was scripted")
    sent.append(delivered.rest)
    return Played(relay, sent, requests, calls, delivered)


def _results(answer: Answer) -> list[ToolResult]:
    return [
        ToolResult(call.call_id, answer_text(call.name, ORIGINAL, call.marker_id))
        for call in answer.calls
    ]


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(kind: str, **members: object) -> bytes:
    """One Anthropic event."""
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), compact({"type": kind, **members}))


def opening(**usage: int) -> bytes:
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-a",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 1, **usage},
    }
    return event("message_start", message=message)


def ending(stop_reason: str, output: int = 9, **usage: int) -> bytes:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    told = {"output_tokens": output, **usage}
    return event("message_delta", delta=delta, usage=told) + event("message_stop")


def block(index: int, start: Json, *deltas: Json) -> bytes:
    """A whole content block: start, deltas, stop."""
    return (
        event("content_block_start", index=index, content_block=start)
        + b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
        + event("content_block_stop", index=index)
    )


def text(index: int, *pieces: str) -> bytes:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking(index: int, thought: str, signature: str) -> bytes:
    return block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": thought},
        {"type": "signature_delta", "signature": signature},
    )


def tool_use(index: int, name: str = EXPAND, *pieces: str, call_id: str = "toolu_1") -> bytes:
    """A tool call whose input arrives in the pieces given, or asks for ID."""
    written = pieces or ("", '{"id"', f':"{ID[:5]}', f'{ID[5:]}"}}')
    start = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in written]
    return block(index, start, *deltas)


def anthropic(*blocks: bytes, stop_reason: str = "end_turn", **usage: int) -> Script:
    """A stream of the Anthropic dialect, one chunk for each part given."""
    return Script([opening(**usage), *blocks, ending(stop_reason)])


def chunk(choice: Json | None, **members: object) -> bytes:
    """One chunk of an OpenAI stream; None for one without choices."""
    choices = [] if choice is None else [{"index": 0, "finish_reason": None, **choice}]
    frame = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "gpt-a",
        "choices": choices,
        **members,
    }
    return b"data: " + compact(frame) + b"\n\n"


def delta(**members: object) -> bytes:
    return chunk({"delta": members})


def call_chunks(index: int, *pieces: str, name: str = EXPAND, call_id: str = "call_1") -> bytes:
    """A streamed tool call: its head, then its arguments in pieces."""
    head = {
        "index": index,
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": ""},
    }
    written = pieces or ('{"id":', f'"{ID}"}}')
    parts = [{"index": index, "function": {"arguments": piece}} for piece in written]
    return b"".join(delta(tool_calls=[part]) for part in [head, *parts])


ROLE = delta(role="assistant", content="", refusal=None)
DONE = b"data: [DONE]\n\n"


def finish(reason: str, **usage: int) -> bytes:
    """The last chunks of a stream that includes its usage."""
    counted = {"prompt_tokens": 90, "completion_tokens": 3, "total_tokens": 93, **usage}
    return (
        chunk({"delta": {}, "finish_reason": reason}, usage=None)
        + chunk(None, usage=counted)
        + DONE
    )


def openai(*chunks: bytes, reason: str = "stop", **usage: int) -> Script:
    return Script([ROLE, *chunks, finish(reason, **usage)])


def kinds(stream: bytes) -> list[object]:
    """The types of an Anthropic stream's events, in order."""
    return [value["type"] for value in data_of(stream)]


def indices(stream: bytes) -> list[object]:
    """The indices of an Anthropic stream's content blocks, in order."""
    return [value["index"] for value in data_of(stream) if value["type"] == "content_block_start"]


def data_of(stream: bytes) -> Iterable[dict[str, object]]:
    """The JSON values of a stream's events, comments and [DONE] left out."""
    for line in stream.splitlines():
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))
