"""The output of an answer that was cut is what was delivered of it (03 §4.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.expand.delivered import SAMPLE_CHARS
from dataplane.core.expand.facts import Facts
from dataplane.core.text import tokens
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.sse import SseParser
from dataplane.core.wire.usage import Reading, RoundUsage, Usage

WORDS = "Whatever the model said before the line broke was paid for. "
CALL = '{"command": "make test", "timeout": 600}'


def anthropic(*deltas: dict[str, Any], end: bool = False) -> list[dict[str, Any]]:
    usage = {"input_tokens": 12, "cache_read_input_tokens": 900, "output_tokens": 1}
    start = {"type": "message_start", "message": {"model": "m", "usage": usage}}
    said = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    return [start, *said, stop | {"usage": {"output_tokens": 5}}] if end else [start, *said]


def read(dialect: Dialect, events: list[dict[str, Any]]) -> RoundUsage:
    facts = Facts(dialect)
    stream = b"".join(
        f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n".encode()
        for event in events
    )
    if dialect is Dialect.OPENAI_CHAT:
        stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    for event in SseParser().feed(stream):
        facts.read_event(event)
    return facts.usage


def test_an_answer_that_came_to_its_end_costs_what_it_says() -> None:
    found = read(Dialect.ANTHROPIC, anthropic({"text": WORDS * 9}, end=True))

    assert found == RoundUsage(Usage(12, 900, output=5), Reading.READ)


def test_text_thoughts_and_arguments_of_a_cut_answer_are_its_output() -> None:
    deltas = ({"thinking": WORDS}, {"text": WORDS}, {"partial_json": CALL})

    found = read(Dialect.ANTHROPIC, anthropic(*deltas))

    expected = tokens.count(WORDS + WORDS + CALL).tokens
    assert found == RoundUsage(Usage(12, 900, output=expected), Reading.READ, estimated=True)


def test_a_figure_that_was_reported_is_not_made_smaller() -> None:
    assert read(Dialect.ANTHROPIC, anthropic()).usage.output == 1


CHAT = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": WORDS}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"arguments": CALL}}]}}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"status": "in_progress", "usage": None}},
    {"type": "response.output_text.delta", "delta": WORDS},
    {"type": "response.function_call_arguments.delta", "delta": CALL},
]


@pytest.mark.parametrize(
    ("dialect", "events"), [(Dialect.OPENAI_CHAT, CHAT), (Dialect.OPENAI_RESPONSES, RESPONSES)]
)
def test_where_the_end_would_have_told_the_input_what_was_sent_stands_for_it(
    dialect: Dialect, events: list[dict[str, Any]]
) -> None:
    found = read(dialect, events)

    output = tokens.count(WORDS + CALL).tokens
    assert found == RoundUsage(Usage(output=output), Reading.ABSENT, estimated=True)
    assert found.with_input(300).usage == Usage(300, output=output)
    assert found.with_input(300).reading is Reading.READ


def test_a_whole_chat_stream_without_usage_stays_unknown() -> None:
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

    found = read(Dialect.OPENAI_CHAT, [*CHAT, finish])

    assert found.with_input(300) == RoundUsage(Usage(), Reading.ABSENT)


def test_a_stream_of_any_length_is_estimated_from_its_beginning() -> None:
    pieces = 4 * SAMPLE_CHARS // len(WORDS)

    found = read(Dialect.ANTHROPIC, anthropic(*[{"text": WORDS}] * pieces))

    assert found.usage.output == pytest.approx(tokens.count(WORDS * pieces).tokens, rel=0.05)


def test_what_cannot_be_read_adds_nothing() -> None:
    odd: list[dict[str, Any]] = [
        {"choices": None, "x": "delta"},
        {"choices": [{"delta": {"tool_calls": [{}]}}]},
    ]
    broken: list[dict[str, Any]] = [{"choices": [{"delta": 7}]}]

    assert read(Dialect.OPENAI_CHAT, [*odd, *broken]).usage == Usage()
