"""When an agent is compacting its own transcript (03 §2.3, 10.4 (58, 59))."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.bypass import GATES, is_agent_compaction
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Dialect

SUMMARY = "Your task is to create a detailed summary of the conversation."
SCRATCHPAD = "Please. First, reason in your scratchpad. Then, generate the summary."
TEXT = {"type": "text", "text": SUMMARY}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
QUOTING = {"type": "tool_result", "tool_use_id": "t", "content": SUMMARY}


def compacts(*messages: Any, dialect: Dialect = Dialect.ANTHROPIC, **members: Any) -> bool:
    body = json.dumps({"messages": messages, **members}, ensure_ascii=False).encode()
    return is_agent_compaction(decode(dialect, body))


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([user(SUMMARY)], True, id="58-string"),
        pytest.param([user(SCRATCHPAD)], True, id="58-other-prompt"),
        pytest.param([user([{"type": "text", "text": "x"}, TEXT])], True, id="58-text-block"),
        pytest.param([user("Y" * 200 + SUMMARY)], True, id="58-behind-many-of-its-first-letter"),
        pytest.param([user("Y" * 200)], False, id="59-only-its-first-letter"),
        pytest.param([user([RESULT, TEXT])], True, id="58-beside-a-tool-result"),
        pytest.param([user([QUOTING])], False, id="58-only-in-a-tool-result"),
        pytest.param(
            [user([QUOTING, {"type": "text", "text": "x"}])], False, id="58-text-beside-a-quote"
        ),
        pytest.param([user([QUOTING, {"type": "document", "text": 5}])], False, id="58-odd-block"),
        pytest.param([user(SUMMARY), user("thanks")], False, id="58-not-the-last"),
        pytest.param(
            [{"role": "assistant", "content": SUMMARY}], False, id="58-said-by-the-assistant"
        ),
        pytest.param([], False, id="58-nothing"),
    ],
)
def test_only_the_last_messages_own_text_counts(messages: list[Any], *, expected: bool) -> None:
    assert compacts(*messages) is expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user(SUMMARY), True),
        (user([TEXT]), True),
        ({"role": "tool", "tool_call_id": "c", "content": SUMMARY}, False),
        ({"role": "tool", "tool_call_id": "c", "content": [TEXT]}, False),
    ],
)
def test_the_same_holds_for_openai(message: Any, *, expected: bool) -> None:
    assert compacts(message, dialect=Dialect.OPENAI_CHAT) is expected


@pytest.mark.parametrize(
    ("compaction", "expected"), [({"type": "auto"}, True), ({}, True), (None, False), (True, False)]
)
def test_case_59_a_top_level_compaction_object_counts(compaction: Any, *, expected: bool) -> None:
    assert compacts(user("hi"), compaction=compaction) is expected


def test_every_reason_has_a_name_of_its_own() -> None:
    assert len({gate.name for gate in GATES}) == len(GATES)
