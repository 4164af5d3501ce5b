"""From body bytes to messages, for both dialects (01 §1.9; 03 §2.1 and 2.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.session.naming import derived_id
from dataplane.core.wire import anthropic
from dataplane.core.wire.decode import NoMessagesError, decode
from dataplane.core.wire.message import Conversation, Dialect, Role
from dataplane.core.wire.spans import Span, UnparseableError, elements_in

A, C = Dialect.ANTHROPIC, Dialect.OPENAI_CHAT


def of(dialect: Dialect, *messages: Any, **members: Any) -> Conversation:
    return decode(dialect, json.dumps({"messages": list(messages), **members}).encode())


def seen(conversation: Conversation) -> list[tuple[Role, str, bool]]:
    return [(m.role, m.content.text, m.rewritable) for m in conversation.messages]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def result(content: Any, call_id: str = "t") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


TEXT = {"type": "text", "text": "a"}
IMAGE = {"type": "image", "source": {"type": "base64", "data": "aGk="}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("hi"), [(Role.USER, "hi", False)]),
        (user([TEXT, IMAGE, TEXT]), [(Role.USER, "aa", False)]),
        (user(None), [(Role.USER, "", False)]),
        ({"role": "user"}, [(Role.USER, "", False)]),
        ({"role": "assistant", "content": "hi"}, [(Role.ASSISTANT, "hi", False)]),
        ({"role": "system", "content": "hi"}, [(Role.SYSTEM, "hi", False)]),
        ({"role": "critic", "content": "hi"}, [(Role.USER, "hi", False)]),
        (
            user([result("one"), TEXT, result("two")]),
            [(Role.TOOL, t, True) for t in ("one", "two")],
        ),
        (user([result([TEXT, IMAGE, TEXT])]), [(Role.TOOL, "a", True)] * 2),
        (user([result(None)]), [(Role.USER, "", False)]),
        ({"role": "assistant", "content": [result("x")]}, [(Role.ASSISTANT, "", False)]),
        (user([result(7)]), [(Role.USER, "", False)]),
    ],
)
def test_an_anthropic_message_becomes_one_message_or_one_for_each_tool_text(
    message: Any, expected: list[tuple[Role, str, bool]]
) -> None:
    assert seen(of(A, message)) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("hi"), (Role.USER, "hi", False)),
        (user([TEXT, {"type": "image_url"}]), (Role.USER, "a", False)),
        ({"role": "developer", "content": "hi"}, (Role.SYSTEM, "hi", False)),
        ({"role": "assistant", "content": None}, (Role.ASSISTANT, "", False)),
        ({"role": "tool", "content": "out", "tool_call_id": "t"}, (Role.TOOL, "out", True)),
        ({"role": "function", "content": "out", "name": "f"}, (Role.TOOL, "out", True)),
        ({"role": "tool", "content": [TEXT, TEXT]}, (Role.TOOL, "aa", True)),
        ({"role": "tool", "content": [TEXT, {"type": "file"}]}, (Role.TOOL, "a", False)),
    ],
)
def test_an_openai_message_becomes_one_message(
    message: Any, expected: tuple[Role, str, bool]
) -> None:
    assert seen(of(C, message)) == [expected]


@pytest.mark.parametrize("dialect", [A, C])
@pytest.mark.parametrize("odd", [7, "text", None, [], {"content": "x"}, {"role": 1}, user([3])])
def test_a_message_of_no_known_shape_is_presented_as_an_empty_one(
    dialect: Dialect, odd: Any
) -> None:
    assert seen(of(dialect, user("hi"), odd)) == [
        (Role.USER, "hi", False),
        (Role.USER, "", False),
    ]


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        (A, user([result("x" * 9, "call_1")])),
        (C, {"role": "tool", "content": "x" * 9, "tool_call_id": "call_1"}),
    ],
)
def test_a_tool_output_knows_its_call_and_its_place(dialect: Dialect, message: Any) -> None:
    conversation = of(dialect, message)

    (output,) = conversation.messages
    assert output.call_id == "call_1"
    assert output.locate is not None
    assert conversation.body[slice(*output.locate())] == b'"xxxxxxxxx"'


@pytest.mark.parametrize("content", ["user", [TEXT, {"type": "text", "text": "user"}]])
def test_a_text_that_stands_elsewhere_too_is_placed_where_it_was_read(content: Any) -> None:
    conversation = of(A, {"content": [result("text", "user"), result(content)], "role": "user"})

    output = conversation.messages[-1]
    assert output.locate is not None
    span = output.locate()
    assert conversation.body[slice(*span)] == b'"user"'
    edited = conversation.body[: span.start] + b'"new"' + conversation.body[span.end :]
    assert decode(A, edited).messages[-1].content.text == "new"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([result("same") for _ in range(30)], id="results"),
        pytest.param([result([TEXT] * 30)], id="parts of one result"),
    ],
)
def test_a_message_is_walked_once_however_many_of_its_texts_are_placed(
    content: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one request of a megabyte, with results that are alike, takes half a minute."""
    walks: list[Span] = []

    def counted(body: bytes, span: Span, name: str) -> list[Span]:
        walks.append(span)
        return elements_in(body, span, name)

    monkeypatch.setattr(anthropic, "elements_in", counted)
    outputs = of(A, user(content)).messages

    spans = {output.locate() for output in outputs if output.locate is not None}

    assert len(spans) == 30
    assert len(walks) == len(set(walks)) <= 2


MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}


def test_an_openai_output_in_several_parts_is_placed_as_a_whole() -> None:
    conversation = of(C, {"role": "tool", "content": [TEXT, TEXT]})

    assert conversation.messages[0].locate is not None
    span = conversation.messages[0].locate()
    assert json.loads(conversation.body[slice(*span)]) == [TEXT, TEXT]


def test_an_openai_output_in_one_part_keeps_what_else_the_part_says() -> None:
    conversation = of(C, {"role": "tool", "content": [MARKED]})

    assert conversation.messages[0].locate is not None
    span = conversation.messages[0].locate()
    assert conversation.body[slice(*span)] == b'"a"'
    edited = conversation.body[: span.start] + b'"new"' + conversation.body[span.end :]
    assert json.loads(edited)["messages"][0]["content"] == [{**MARKED, "text": "new"}]


def test_a_breakpoint_on_one_of_several_parts_is_not_taken_away() -> None:
    (output,) = of(C, {"role": "tool", "content": [TEXT, MARKED]}).messages

    assert output.locate is not None
    with pytest.raises(UnparseableError):
        output.locate()


UNSET = {"name": None, "tool_calls": None, "tool_call_id": None}


@pytest.mark.parametrize(
    ("dialect", "message", "expected"),
    [
        (C, {**UNSET, **user("hi")}, (Role.USER, "hi", False)),
        (C, {**UNSET, "role": "system", "content": "hi"}, (Role.SYSTEM, "hi", False)),
        (C, {**UNSET, "role": "tool", "content": "out"}, (Role.TOOL, "out", True)),
        (C, user([TEXT, {"type": "image_url", "text": None}]), (Role.USER, "a", False)),
        (A, user([{**TEXT, "tool_use_id": None}]), (Role.USER, "a", False)),
        (A, user([{**result("out"), "text": None}]), (Role.TOOL, "out", True)),
        (A, user([{"type": "tool_result", "content": "out", "tool_use_id": None}]),
         (Role.TOOL, "out", True)),
    ],
)  # fmt: skip
def test_a_member_that_is_null_is_not_there(
    dialect: Dialect, message: Any, expected: tuple[Role, str, bool]
) -> None:
    """Programs that write every member they know write null for those without a value."""
    assert seen(of(dialect, message)) == [expected]


def test_conversations_are_told_apart_though_their_messages_hold_nulls() -> None:
    one, other = (of(C, {**UNSET, **user(text)}) for text in ("Fix the test.", "Write a poem."))

    assert derived_id(one) != derived_id(other)


@pytest.mark.parametrize("dialect", [A, C])
def test_what_stands_outside_the_messages_is_read(dialect: Dialect) -> None:
    tools = [{"name": "bash"}, {"type": "function", "function": {"name": "read"}}, 5, {"name": 5}]

    found = of(dialect, user("hi"), model="m-1", stream=True, tools=tools)

    assert (found.model, found.streams) == ("m-1", True)
    assert found.tool_names == ["bash", "read", "", ""]
    assert found.value("model") == b'"m-1"'
    assert found.value("missing") is None


def test_what_has_another_type_than_it_should_counts_as_absent() -> None:
    found = of(A, model=5, stream="yes", tools={"name": "bash"})

    assert (found.model, found.streams, found.tool_names) == ("", False, [])
    assert found.messages == []


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ({"type": "auto"}, "auto"),
        ("none", "none"),
        ({"type": "none"}, "none"),
        ({"type": "any"}, "any"),
        ("required", "any"),
        ({"type": "tool", "name": "a"}, "named"),
        ({"type": "function", "function": {"name": "a"}}, "named"),
        ({"type": "custom", "custom": {"name": "a"}}, "named"),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "allowed"),
        ("whatever", "other"),
        ({"type": "web_search"}, "other"),
        ({"type": 7}, "other"),
        ([], "other"),
    ],
)
def test_a_tool_choice_is_one_of_six_words(choice: Any, word: str) -> None:
    assert of(A, user("hi"), tool_choice=choice).tool_choice.choice.value == word


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[]", id="33-array"),
        pytest.param(b'"x"', id="33-string"),
        pytest.param(b"{bad", id="33-broken"),
        pytest.param(b'\xef\xbb\xbf{"messages":[]}', id="33-bom"),
        pytest.param(b'{"messages":[{"role":"user","content":"\xff"}]}', id="33-not-utf8"),
        pytest.param(b'{"messages":[],"messages":[]}', id="38-twice"),
        pytest.param(b'{"messages":{}}', id="messages-no-array"),
    ],
)
def test_a_body_that_cannot_be_edited_safely_says_so(body: bytes) -> None:
    with pytest.raises(UnparseableError):
        decode(A, body)


def test_a_body_without_messages_says_so() -> None:
    with pytest.raises(NoMessagesError):
        decode(A, b'{"prompt":"hi"}')


def test_a_number_out_of_range_hides_only_its_own_value() -> None:
    body = b'{"messages":[],"tools":[{"name":"a","x":1e999},{"name":"b"}],"model":"m","n":1e999}'

    found = decode(A, body)

    assert (found.tool_names, found.model) == (["", "b"], "m")


def test_case_39_a_message_with_a_lone_surrogate_is_presented_but_has_no_place() -> None:
    body = (
        rb'{"messages":[{"role":"user","content":[{"type":"tool_result","content":"\ud800"}]},'
        rb'{"role":"user","content":[{"type":"tool_result","content":"fine"}]}]}'
    )

    lone, fine = decode(A, body).messages

    assert (lone.content.text, fine.content.text) == ("\ufffd", "fine")
    assert lone.locate is not None
    assert fine.locate is not None
    assert body[slice(*fine.locate())] == b'"fine"'
    with pytest.raises(UnparseableError):
        lone.locate()
