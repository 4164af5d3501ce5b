"""A replayed turn is what an agent would have sent."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from dataplane.replay.bodies import Dialect, Style, body
from dataplane.replay.recording import Recording
from tests.dataplane.replay.builders import conversation, recording, result, text, user

ANTHROPIC = Style(dialect="anthropic", model="m")
OPENAI = Style(dialect="openai", model="m")
MARK = {"type": "ephemeral"}


def written(recorded: Recording, upto: int, style: Style) -> Any:
    return json.loads(body(recorded, upto, style))


def test_breakpoints_stand_on_the_last_tool_the_system_prompt_and_the_newest_message() -> None:
    sent = written(conversation(), 3, ANTHROPIC)

    assert sent["tools"][-1]["cache_control"] == MARK
    assert sent["system"][-1]["cache_control"] == MARK
    assert sent["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert body(conversation(), 3, ANTHROPIC).count(b"cache_control") == 3


def test_a_later_turn_repeats_the_earlier_messages_but_for_the_breakpoint() -> None:
    first, second = (written(conversation(), upto, ANTHROPIC) for upto in (1, 3))
    del first["messages"][0]["content"][0]["cache_control"]

    assert second["messages"][:1] == first["messages"]
    assert (second["tools"], second["system"]) == (first["tools"], first["system"])


def test_a_long_cache_lifetime_is_written_on_every_breakpoint() -> None:
    sent = body(conversation(), 3, Style(dialect="anthropic", model="m", cache_ttl="1h"))

    assert sent.count(b'"ttl":"1h"') == sent.count(b"cache_control") == 3


def test_in_openais_dialect_every_result_is_a_message_and_arguments_are_text() -> None:
    sent = written(conversation(), 3, OPENAI)

    assert sent["messages"] == [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "What is here?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "toolu_1",
                    "type": "function",
                    "function": {"name": "bash", "arguments": '{"command":"ls"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": "a.py\nb.py"},
    ]
    assert sent["tools"][0]["function"]["parameters"]["type"] == "object"


def test_in_openais_dialect_text_beside_results_follows_them() -> None:
    mixed = recording(user(result("a", [text("x"), text("y")]), text("and now?")))

    assert [(m["role"], m["content"]) for m in written(mixed, 1, OPENAI)["messages"][1:]] == [
        ("tool", "x\ny"),
        ("user", "and now?"),
    ]


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_a_streamed_answer_is_asked_for_with_its_usage(dialect: Dialect) -> None:
    sent = written(conversation(), 1, Style(dialect=dialect, model="m", stream=True))

    assert sent["stream"] is True
    assert dialect == "anthropic" or sent["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("cache_ttl", ["5m", "1h"])
def test_the_same_turn_is_always_the_same_bytes(cache_ttl: Literal["5m", "1h"]) -> None:
    style = Style(dialect="anthropic", model="m", cache_ttl=cache_ttl)

    assert body(conversation(), 3, style) == body(conversation(), 3, style)
