"""Who called the tool that an output answers, and who therefore reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.components import collapse, dedup, mask
from dataplane.core.components import format as lossless
from dataplane.core.effects import SessionView
from dataplane.core.pipeline.loop import run
from dataplane.core.pipeline.run import Conditions
from dataplane.core.port.declaration import PipelineStep
from dataplane.core.wire.calls import DIRECT, UNKNOWN
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Conversation, Dialect, Message, Role
from tests.dataplane.core.build import M

Json = dict[str, Any]
BY_CODE = {"type": "code_execution_20250825", "tool_id": "srvtoolu_9"}
ROWS = json.dumps([{"id": n, "value": n * 7} for n in range(300)], indent=1)
STEPS = [
    PipelineStep(lossless.COMPONENT, lossless.Config()),
    PipelineStep(dedup.COMPONENT, dedup.Config(min_tokens=1)),
    PipelineStep(mask.COMPONENT, mask.Config(keep_recent=0, min_tokens=1)),
    PipelineStep(collapse.COMPONENT, collapse.Config(max_tokens=10)),
]


def anthropic(*pairs: tuple[Json, Any]) -> Conversation:
    """One call, with these facts beside its name, and one result for each."""
    messages: list[Json] = [{"role": "user", "content": "Count."}]
    for number, (facts, content) in enumerate(pairs):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "query", "input": {"n": 1}}
        block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}
        messages.append({"role": "assistant", "content": [call | facts]})
        messages.append({"role": "user", "content": [block]})
    return decode(Dialect.ANTHROPIC, json.dumps({"messages": messages}).encode())


def chat(call: Json, content: str = ROWS) -> Conversation:
    made = {"id": "c1", "type": "function", "function": {"name": "query", "arguments": '{"n":1}'}}
    messages = [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "tool_calls": [made | call]},
        {"role": "tool", "tool_call_id": "c1", "content": content},
    ]
    return decode(Dialect.OPENAI_CHAT, json.dumps({"messages": messages}).encode())


def responses(call: Json, output: Json) -> Conversation:
    made = {"type": "function_call", "call_id": "c1", "name": "query", "arguments": '{"n":1}'}
    answer = {"type": "function_call_output", "call_id": "c1", "output": ROWS}
    items = [{"role": "user", "content": "Count."}, made | call, answer | output]
    return decode(Dialect.OPENAI_RESPONSES, json.dumps({"input": items}).encode())


def outputs(conversation: Conversation) -> list[Message]:
    return [message for message in conversation.messages if message.role is Role.TOOL]


PROGRAM = {"caller": {"type": "program", "caller_id": "prog_1"}}
READ_BY_CODE = [
    pytest.param(anthropic(({"caller": BY_CODE}, ROWS)), id="anthropic"),
    pytest.param(
        anthropic(({"caller": BY_CODE}, [{"type": "text", "text": ROWS}])), id="anthropic-parts"
    ),
    pytest.param(anthropic(({"type": "server_tool_use"}, ROWS)), id="anthropic-server-tool"),
    pytest.param(anthropic(({"type": "mcp_tool_use"}, ROWS)), id="anthropic-connector"),
    pytest.param(anthropic(({"caller": "a program"}, ROWS)), id="anthropic-unknown-shape"),
    pytest.param(chat({"caller": BY_CODE}), id="chat"),
    pytest.param(responses(PROGRAM, {}), id="responses-call"),
    pytest.param(responses({}, PROGRAM), id="responses-output"),
    pytest.param(
        responses({"type": "custom_tool_call", **PROGRAM}, {"type": "custom_tool_call_output"}),
        id="responses-custom",
    ),
]


@pytest.mark.parametrize("conversation", READ_BY_CODE)
def test_no_component_touches_what_a_program_reads_and_each_says_so(
    conversation: Conversation,
) -> None:
    state = run(STEPS, conversation.messages, Conditions(SessionView()))

    assert state.changes == {}
    assert [step.gates["read_by_code"] for step in state.report.steps] == [1] * len(STEPS)


@pytest.mark.parametrize(
    "conversation",
    [
        pytest.param(anthropic(({}, ROWS)), id="anthropic"),
        pytest.param(anthropic(({"caller": {"type": "direct"}}, ROWS)), id="anthropic-direct"),
        pytest.param(anthropic(({"caller": None}, ROWS)), id="anthropic-null"),
        pytest.param(chat({}), id="chat"),
        pytest.param(responses({}, {}), id="responses"),
        pytest.param(
            responses({"caller": {"type": "direct"}}, {"caller": {"type": "direct"}}),
            id="responses-direct",
        ),
    ],
)
def test_what_the_model_called_it_reads(conversation: Conversation) -> None:
    (output,) = outputs(conversation)

    assert (output.call.name, output.call.caller) == ("query", DIRECT)
    assert json.loads(output.call.arguments) == {"n": 1}
    state = run(STEPS, conversation.messages, Conditions(SessionView()))
    assert len(state.changes) == 1


def test_what_a_program_reads_takes_no_place_among_the_newest_outputs() -> None:
    conversation = anthropic(({}, M), ({"caller": BY_CODE}, M), ({}, "newest"))
    step = PipelineStep(mask.COMPONENT, mask.Config(keep_recent=1, min_tokens=1))

    state = run([step], conversation.messages, Conditions(SessionView()))

    assert [conversation.messages[index].call_id for index in state.changes] == ["toolu_0"]


def test_of_an_id_that_was_used_again_the_call_before_the_output_counts() -> None:
    turns: list[Json] = []
    for name in ("first", "second"):
        call: Json = {"type": "tool_use", "id": "x", "name": name, "input": {}}
        result = {"type": "tool_result", "tool_use_id": "x", "content": "text"}
        turns.append({"role": "assistant", "content": [call]})
        turns.append({"role": "user", "content": [result]})

    found = outputs(decode(Dialect.ANTHROPIC, json.dumps({"messages": turns}).encode()))

    assert [message.call.name for message in found] == ["first", "second"]


@pytest.mark.parametrize(
    "facts",
    [{"id": 7}, {"id": None}, {"name": 7}, {"input": "text"}, {"caller": 7}, {"caller": {}}],
)
def test_a_call_of_a_strange_shape_hides_no_message(facts: Json) -> None:
    conversation = anthropic((facts, ROWS))

    (output,) = outputs(conversation)
    assert output.content.text == ROWS
    assert output.call.caller == (UNKNOWN if "caller" in facts else DIRECT)


@pytest.mark.parametrize(
    "calls", [None, [], {}, "text", [None], [{"id": "c1", "function": None}], [{"id": 7}]]
)
def test_calls_of_a_strange_shape_hide_no_message_of_chat(calls: Any) -> None:
    messages = [
        {"role": "assistant", "content": "said", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": ROWS},
    ]

    found = decode(Dialect.OPENAI_CHAT, json.dumps({"messages": messages}).encode()).messages

    assert [message.content.text for message in found] == ["said", ROWS]


# ---- texts and other blocks ------------------------------------------------------------------

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
TEXT = {"type": "text", "text": M}


@pytest.mark.parametrize(
    ("content", "slots"),
    [
        pytest.param([IMAGE], [("", False)], id="nothing but an image"),
        pytest.param([IMAGE, IMAGE], [("", False)], id="two images"),
        pytest.param([{"type": "search_result"}], [("", False)], id="a search result"),
        pytest.param([IMAGE, TEXT], [(M, True)], id="a text beside an image"),
        pytest.param([TEXT, IMAGE, TEXT], [(M, True), (M, True)], id="two texts and an image"),
        pytest.param([], [], id="nothing at all"),
        pytest.param(None, [], id="null"),
        pytest.param("", [("", True)], id="an empty text"),
    ],
)
def test_whether_a_result_can_be_rewritten_is_decided_by_the_text(
    content: Any, slots: list[tuple[str, bool]]
) -> None:
    found = outputs(anthropic(({}, content)))

    assert [(message.content.text, message.rewritable) for message in found] == slots
    assert {message.call_id for message in found} <= {"toolu_0"}


@pytest.mark.parametrize(
    "conversation",
    [
        pytest.param(anthropic(({}, [IMAGE])), id="anthropic"),
        pytest.param(
            responses({}, {"output": [{"type": "input_image", "image_url": "data:,"}]}),
            id="responses",
        ),
    ],
)
def test_a_result_of_nothing_but_other_blocks_is_passed_over_by_name(
    conversation: Conversation,
) -> None:
    state = run(STEPS, conversation.messages, Conditions(SessionView()))

    assert [step.gates["non_text_blocks"] for step in state.report.steps] == [1] * len(STEPS)


def test_an_output_that_holds_nothing_is_no_block_of_another_kind() -> None:
    conversation = responses({}, {"output": []})

    state = run(STEPS, conversation.messages, Conditions(SessionView()))

    assert not any(step.gates["non_text_blocks"] for step in state.report.steps)
