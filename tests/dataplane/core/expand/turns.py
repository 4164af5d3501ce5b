"""Turns of a model, told in every dialect as a stream and as one body, and what a client reads.

A dialect is one subclass of Wire; whatever holds for all of them is tested over WIRES.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dataplane.core.expand.opening import open_relay
from dataplane.core.expand.relay import Relay
from dataplane.core.expand.terms import Terms
from dataplane.core.tools.tool import EXPAND
from dataplane.core.wire.message import Dialect
from tests.dataplane.core.expand import responses_script, scripts
from tests.dataplane.core.expand.scripts import ID, Script, compact, data_of

Part = Literal["say", "ours", "ours, cut", "ours, nameless", "theirs"]
Finish = Literal["calls", "stop", "cut", "none"]
PARTS: tuple[Part, ...] = ("say", "ours", "ours, cut", "ours, nameless", "theirs")
FINISHES: tuple[Finish, ...] = ("calls", "stop", "cut", "none")
ARGUMENTS: dict[Part, str] = {"theirs": "{}", "ours, cut": '{"id":"91'}


@dataclass(frozen=True)
class Turn:
    """What a model says, in order, and how its provider ends it. tokens: its input."""

    parts: tuple[Part, ...]
    finish: Finish = "calls"
    tokens: int = 10

    @property
    def calls_us(self) -> bool:
        return any(part.startswith("ours") for part in self.parts)


@dataclass(frozen=True)
class Read:
    """What the client has at the end. usage: input and output tokens."""

    texts: tuple[str, ...]
    tools: tuple[str, ...]
    finish: str | None
    usage: tuple[int, int]


def _call(part: Part) -> tuple[str, str]:
    """The tool's name and its arguments."""
    written = ARGUMENTS.get(part, f'{{"id":"{ID}"}}')
    return ("bash" if part == "theirs" else EXPAND), written


def events_of(stream: bytes) -> Iterable[dict[str, Any]]:
    return data_of(stream)


class Wire(abc.ABC):
    """whole: the kinds of calls of ours that can be answered, once the turn is done."""

    dialect: Dialect
    whole: frozenset[Part] = frozenset({"ours"})

    def mixes(self, turn: Turn) -> bool:
        """Whether the client has to get the turn as it is, because it calls a tool of its own."""
        ours = {part for part in turn.parts if part.startswith("ours")}
        return "theirs" in turn.parts and bool(ours) and ours <= self.whole and turn.finish != "cut"

    @abc.abstractmethod
    def stream(self, turn: Turn, number: int) -> Script: ...

    @abc.abstractmethod
    def body(self, turn: Turn, number: int) -> Script: ...

    @abc.abstractmethod
    def read_stream(self, written: bytes) -> Read: ...

    @abc.abstractmethod
    def read_body(self, written: bytes) -> Read: ...

    @abc.abstractmethod
    def finish_of(self, turn: Turn) -> str | None: ...

    def script(self, turn: Turn, number: int, *, streams: bool) -> Script:
        return self.stream(turn, number) if streams else self.body(turn, number)

    def read(self, written: bytes, *, streams: bool) -> Read:
        return self.read_stream(written) if streams else self.read_body(written)

    def relay(self, *, streams: bool) -> Relay:
        kind = "text/event-stream" if streams else "application/json"
        return open_relay(
            dialect=self.dialect,
            status=200,
            content_type=kind,
            interceptable=True,
            terms=Terms(declared=True),
        )


class Claude(Wire):
    dialect = Dialect.ANTHROPIC
    words: ClassVar = {"calls": "tool_use", "stop": "end_turn", "cut": "max_tokens", "none": None}

    def finish_of(self, turn: Turn) -> str | None:
        word: str | None = self.words[turn.finish]
        return word

    def stream(self, turn: Turn, number: int) -> Script:
        blocks = [self._streamed(at, part, number) for at, part in enumerate(turn.parts)]
        delta = {"stop_reason": self.finish_of(turn), "stop_sequence": None}
        end = scripts.event("message_delta", delta=delta, usage={"output_tokens": number})
        begin = scripts.opening(input_tokens=turn.tokens)
        return Script([begin, *blocks, end, scripts.event("message_stop")])

    def _streamed(self, at: int, part: Part, number: int) -> bytes:
        if part == "say":
            return scripts.text(at, f"{number}.{at}")
        name, written = _call(part)
        call_id = "" if part == "ours, nameless" else f"t{number}{at}"
        return scripts.tool_use(at, name, written, call_id=call_id)

    def body(self, turn: Turn, number: int) -> Script:
        value = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "model-a",
            "content": [self._block(at, part, number) for at, part in enumerate(turn.parts)],
            "stop_reason": self.finish_of(turn),
            "usage": {"input_tokens": turn.tokens, "output_tokens": number},
        }
        return Script([compact(value)])

    def _block(self, at: int, part: Part, number: int) -> dict[str, Any]:
        if part == "say":
            return {"type": "text", "text": f"{number}.{at}"}
        name, written = _call(part)
        call_id = "" if part == "ours, nameless" else f"t{number}{at}"
        # A body is never cut inside: where a stream leaves half an input, it has one of no shape.
        cut = part == "ours, cut"
        wanted = written if cut else json.loads(written)
        return {"type": "tool_use", "id": call_id, "name": name, "input": wanted}

    def read_stream(self, written: bytes) -> Read:
        texts: dict[int, str] = {}
        tools, finish = [], None
        usage: dict[str, int] = {}
        for event in events_of(written):
            if event["type"] == "message_start":
                usage = dict(event["message"]["usage"])
            elif (
                event["type"] == "content_block_start" and event["content_block"]["type"] == "text"
            ):
                assert event["index"] not in texts
                texts[event["index"]] = ""
            elif event["type"] == "content_block_start":
                tools.append(event["content_block"]["name"])
            elif event["type"] == "content_block_delta" and "text" in event["delta"]:
                texts[event["index"]] += event["delta"]["text"]
            elif event["type"] == "message_delta":
                finish = event["delta"]["stop_reason"]
                usage |= event["usage"]
        told = (usage.get("input_tokens", 0), usage.get("output_tokens", 0))
        return Read(tuple(texts.values()), tuple(tools), finish, told)

    def read_body(self, written: bytes) -> Read:
        value = json.loads(written)
        blocks = value["content"]
        usage = value["usage"]
        return Read(
            tuple(block["text"] for block in blocks if block["type"] == "text"),
            tuple(block["name"] for block in blocks if block["type"] == "tool_use"),
            value["stop_reason"],
            (usage["input_tokens"], usage["output_tokens"]),
        )


class Chat(Wire):
    dialect = Dialect.OPENAI_CHAT
    words: ClassVar = {"calls": "tool_calls", "stop": "stop", "cut": "length", "none": None}

    def finish_of(self, turn: Turn) -> str | None:
        word: str | None = self.words[turn.finish]
        return word

    def stream(self, turn: Turn, number: int) -> Script:
        chunks, at = [scripts.ROLE], 0
        for part in turn.parts:
            if part == "say":
                chunks.append(scripts.delta(content=f"{number}."))
            else:
                chunks.append(self._streamed(part, at, number))
                at += 1
        if turn.finish != "none":
            reason: dict[str, Any] = {"delta": {}, "finish_reason": self.finish_of(turn)}
            chunks.append(scripts.chunk(reason, usage=None))
        counted = {"prompt_tokens": turn.tokens, "completion_tokens": number}
        return Script([*chunks, scripts.chunk(None, usage=counted), scripts.DONE])

    def _streamed(self, part: Part, at: int, number: int) -> bytes:
        name, written = _call(part)
        call_id = "" if part == "ours, nameless" else f"c{number}{at}"
        return scripts.call_chunks(at, written, name=name, call_id=call_id)

    def body(self, turn: Turn, number: int) -> Script:
        said = f"{number}." * turn.parts.count("say")
        message: dict[str, Any] = {"role": "assistant", "content": said or None}
        calls = [part for part in turn.parts if part != "say"]
        if calls:
            message["tool_calls"] = [self._call(part, at, number) for at, part in enumerate(calls)]
        choice = {"index": 0, "message": message, "finish_reason": self.finish_of(turn)}
        usage = {"prompt_tokens": turn.tokens, "completion_tokens": number}
        return Script([compact({"id": "c1", "model": "g", "choices": [choice], "usage": usage})])

    def _call(self, part: Part, at: int, number: int) -> dict[str, Any]:
        name, written = _call(part)
        call_id = "" if part == "ours, nameless" else f"c{number}{at}"
        function = {"name": name, "arguments": written}
        return {"id": call_id, "type": "function", "function": function}

    def read_stream(self, written: bytes) -> Read:
        text, finish, usage = "", None, (0, 0)
        tools: dict[int, str] = {}
        for value in events_of(written):
            for choice in value["choices"]:
                text += choice["delta"].get("content") or ""
                finish = choice["finish_reason"] or finish
                for call in choice["delta"].get("tool_calls", ()):
                    if "name" in call["function"]:
                        assert call["index"] not in tools
                        tools[call["index"]] = call["function"]["name"]
            if value.get("usage"):
                told = value["usage"]
                usage = (told["prompt_tokens"], told["completion_tokens"])
        assert sorted(tools) == list(range(len(tools)))
        return Read((text,), tuple(tools.values()), finish, usage)

    def read_body(self, written: bytes) -> Read:
        value = json.loads(written)
        choice = value["choices"][0]
        calls = choice["message"].get("tool_calls", ())
        return Read(
            (choice["message"]["content"] or "",),
            tuple(call["function"]["name"] for call in calls),
            choice["finish_reason"],
            (value["usage"]["prompt_tokens"], value["usage"]["completion_tokens"]),
        )


class Responses(Wire):
    dialect = Dialect.OPENAI_RESPONSES
    whole: frozenset[Part] = frozenset({"ours", "ours, cut"})  # its status says what was cut

    def finish_of(self, turn: Turn) -> str | None:
        return "incomplete" if turn.finish == "cut" else "completed"

    def _items(self, turn: Turn, number: int) -> list[dict[str, Any]]:
        found = []
        for at, part in enumerate(turn.parts):
            if part == "say":
                found.append(responses_script.message(10 * number + at, f"{number}.{at}"))
            else:
                name, written = _call(part)
                given = {"call_id": ""} if part == "ours, nameless" else {}
                item = responses_script.called(10 * number + at, name, arguments=written, **given)
                found.append(item)
        return found

    def _facts(self, turn: Turn, number: int) -> dict[str, Any]:
        usage = {"input_tokens": turn.tokens, "output_tokens": number}
        return {"status": self.finish_of(turn), "usage": usage}

    def stream(self, turn: Turn, number: int) -> Script:
        items, facts = self._items(turn, number), self._facts(turn, number)
        return responses_script.stream(number, *items, **facts)

    def body(self, turn: Turn, number: int) -> Script:
        items, facts = self._items(turn, number), self._facts(turn, number)
        return responses_script.body(number, *items, **facts)

    def read_stream(self, written: bytes) -> Read:
        ends = [each for each in events_of(written) if each["type"] in _ENDS]
        return self._of(ends[-1]["response"]) if ends else Read((), (), None, (0, 0))

    def read_body(self, written: bytes) -> Read:
        return self._of(json.loads(written))

    def _of(self, response: Any) -> Read:
        items: Sequence[Any] = response["output"]
        usage = response["usage"]
        return Read(
            tuple(item["content"][0]["text"] for item in items if item["type"] == "message"),
            tuple(item["name"] for item in items if item["type"] == "function_call"),
            response["status"],
            (usage["input_tokens"], usage["output_tokens"]),
        )


_ENDS = ("response.completed", "response.incomplete")
WIRES: tuple[Wire, ...] = (Claude(), Chat(), Responses())
CLOSING = Turn(("say",), "stop", 99)


def told(wire: Wire, turns: Iterable[Turn], *, streams: bool) -> list[Script]:
    """The turns as rounds of one response, numbered from 1."""
    return [wire.script(turn, n, streams=streams) for n, turn in enumerate(turns, 1)]
