"""The Responses dialect as messages (03-proxy-and-recovery.md 2.8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.session.naming import derived_id
from dataplane.core.wire import responses
from dataplane.core.wire.decode import NoMessagesError, decode
from dataplane.core.wire.message import Conversation, Dialect, Role
from dataplane.core.wire.spans import Span, elements_in

OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "a ✓ b"}


def conversation(**members: Any) -> Conversation:
    return decode(Dialect.OPENAI_RESPONSES, json.dumps({"model": "m", **members}).encode())


def seen(found: Conversation) -> list[tuple[Role, str, bool]]:
    return [(m.role, m.content.text, m.rewritable) for m in found.messages]


def located(found: Conversation) -> list[Any]:
    spans = [m.locate() for m in found.messages if m.locate is not None]
    return [json.loads(found.body[span.start : span.end]) for span in spans]


def test_a_text_input_is_one_user_message() -> None:
    found = conversation(input="Hello")

    assert seen(found) == [(Role.USER, "Hello", False)]


def test_instructions_are_the_first_system_message() -> None:
    found = conversation(instructions="Be brief.", input=[{"role": "user", "content": "Hello"}])

    assert seen(found) == [(Role.SYSTEM, "Be brief.", False), (Role.USER, "Hello", False)]


@pytest.mark.parametrize("instructions", [None, 7])
def test_instructions_without_text_are_no_message(instructions: object) -> None:
    assert seen(conversation(instructions=instructions, input="x")) == [(Role.USER, "x", False)]


def test_parts_of_a_message_are_joined() -> None:
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_image"}]
    said = [{"type": "output_text", "text": "b", "annotations": []}]
    found = conversation(
        input=[
            {"type": "message", "role": "developer", "content": parts},
            {"type": "message", "role": "assistant", "content": said},
            {"role": "user", "content": None},
        ]
    )

    assert seen(found) == [
        (Role.SYSTEM, "a", False),
        (Role.ASSISTANT, "b", False),
        (Role.USER, "", False),
    ]


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_the_text_of_a_tool_output_can_be_placed(kind: str) -> None:
    found = conversation(input=[{**OUTPUT, "type": kind}])

    assert seen(found) == [(Role.TOOL, "a ✓ b", True)]
    assert found.messages[0].call_id == "c1"
    assert located(found) == ["a ✓ b"]


def test_an_output_is_walked_once_however_many_of_its_parts_are_placed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walks: list[Span] = []

    def counted(body: bytes, span: Span, name: str) -> list[Span]:
        walks.append(span)
        return elements_in(body, span, name)

    monkeypatch.setattr(responses, "elements_in", counted)
    parts = [{"type": "input_text", "text": "same"}] * 30

    assert located(conversation(input=[{**OUTPUT, "output": parts}])) == ["same"] * 30
    assert len(walks) == 1


def test_an_output_of_parts_is_a_tool_message_per_text() -> None:
    parts = [
        {"type": "input_text", "text": "one"},
        {"type": "input_image", "image_url": "data:,"},
        {"type": "input_text", "text": "two"},
    ]
    found = conversation(input=[{**OUTPUT, "output": parts}])

    assert seen(found) == [(Role.TOOL, "one", True), (Role.TOOL, "two", True)]
    assert located(found) == ["one", "two"]


def test_an_output_without_text_is_never_rewritten() -> None:
    found = conversation(input=[{**OUTPUT, "output": [{"type": "input_file", "file_id": "f"}]}])

    assert seen(found) == [(Role.TOOL, "", False)]


@pytest.mark.parametrize(
    "kind", ["reasoning", "function_call", "item_reference", "compaction", "web_search_call"]
)
def test_other_items_count_and_are_never_interpreted(kind: str) -> None:
    found = conversation(input=[{"type": kind, "content": "x", "output": "y"}])

    assert seen(found) == [(Role.ASSISTANT, "", False)]


def test_an_item_of_no_known_shape_is_an_empty_user_message() -> None:
    assert seen(conversation(input=[7])) == [(Role.USER, "", False)]


def test_a_body_without_input_has_no_messages() -> None:
    with pytest.raises(NoMessagesError):
        conversation(messages=[])


def test_the_derived_session_is_that_of_instructions_and_first_user_text() -> None:
    told = [{"role": "user", "content": "Fix it."}]
    chat = {"messages": [{"role": "system", "content": "Be brief."}, *told]}
    same = decode(Dialect.OPENAI_CHAT, json.dumps(chat).encode())

    assert derived_id(conversation(instructions="Be brief.", input=told)) == derived_id(same)
    assert derived_id(conversation(input="Fix it.")) != derived_id(same)


def test_a_member_that_is_null_is_not_there() -> None:
    found = conversation(
        input=[
            {"type": None, "role": "user", "content": "Hello", "call_id": None},
            {**OUTPUT, "role": None, "content": None},
        ]
    )

    assert seen(found) == [(Role.USER, "Hello", False), (Role.TOOL, "a ✓ b", True)]
