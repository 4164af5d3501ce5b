"""What a body may not name under a key that tenants share: case 14 of 03 §10.1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.wire import stored_state
from dataplane.core.wire.stored_state import UNREADABLE, named_in

MESSAGE = {"role": "user", "content": "Where is file_id set? See item_reference in container.py."}
AUTO = {"type": "code_interpreter", "container": {"type": "auto"}}
SCHEMA = {"type": "object", "properties": {"file_id": {"type": "string"}, "id": {"const": 1}}}
FUNCTION = {"type": "function", "name": "open", "parameters": SCHEMA}
STORED = {"type": "item_reference", "id": "msg_1"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "open", "input": {"file_id": "a", "id": "b"}}


def responses(*items: Any, **members: Any) -> bytes:
    return json.dumps({"model": "m", "input": [MESSAGE, *items], **members}).encode()


def chat(*parts: Any, **members: Any) -> bytes:
    user = {"role": "user", "content": [{"type": "text", "text": "file_id"}, *parts]}
    return json.dumps({"model": "m", "messages": [MESSAGE, user], **members}).encode()


anthropic = chat

NAMED = {
    "input[1].id": [
        responses(STORED),
        responses({"id": "msg_1"}),
        responses({"id": "msg_1", "type": None}),
        responses({"id": "msg_1", "content": "x"}),
        responses({"id": "msg_1", "function": {"name": "f"}}),
        responses({"id": "msg_1", "type": ["message"], "content": "x"}),
        responses({"type": "message", "id": "msg_1", "role": "assistant", "content": None}),
        responses({"type": "reasoning", "id": "rs_1", "summary": []}),
        responses({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": ""}),
        responses({"type": "image_generation_call", "id": "ig_1"}),
        responses({"type": "image_generation_call", "id": "ig_1", "result": ""}),
        responses({"type": "web_search_call", "id": "ws_1"}),
        responses({"type": "function_call", "id": "fc_1"}),
        responses({"type": "file_search_call", "id": "fs_1", "queries": ["a"], "results": None}),
        responses({"type": "some_later_call", "id": "x_1", "content": "x"}),
        responses(STORED).replace(b"item_ref", b"i\\u0074em_ref"),
        responses(STORED).replace(b'"id"', b'"\\u0069d"'),
    ],
    "input[1].content[0].file_id": [
        responses({"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}),
        responses({"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}),
        responses({"role": "user", "content": [{"file\\u005fid": "f"}]}).replace(b"\\\\", b"\\"),
    ],
    "input[1].output[0].file_id": [
        responses({"type": "function_call_output", "call_id": "c", "output": [{"file_id": "f"}]}),
    ],
    "input[1].output.file_id": [
        responses(
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "computer_screenshot", "file_id": "f"},
            }
        ),
    ],
    "input[1].container_id": [
        responses({"type": "code_interpreter_call", "container_id": "cntr_1", "code": "1"}),
    ],
    "input[1].environment.container_id": [
        responses(
            {
                "type": "shell_call",
                "action": {"commands": []},
                "environment": {"type": "container_reference", "container_id": "cntr_1"},
            }
        ),
    ],
    "input[1].approval_request_id": [
        responses({"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}),
    ],
    "previous_response_id": [responses(previous_response_id="resp_1")],
    "conversation": [responses(conversation="conv_1")],
    "conversation.id": [responses(conversation={"id": "conv_1"})],
    "prompt.id": [responses(prompt={"id": "pmpt_1"})],
    "tools[0].vector_store_ids": [
        responses(tools=[{"type": "file_search", "vector_store_ids": ["v"]}])
    ],
    "tools[0].container": [responses(tools=[{**AUTO, "container": "cntr_1"}])],
    "tools[0].container.file_ids": [
        responses(tools=[{**AUTO, "container": {"type": "auto", "file_ids": ["f"]}}]),
    ],
    "tools[0].environment.skills[0].skill_id": [
        responses(
            tools=[
                {
                    "type": "shell",
                    "environment": {
                        "type": "container_auto",
                        "skills": [{"type": "skill_reference", "skill_id": "skill_1"}],
                    },
                }
            ]
        ),
    ],
    "tools[0].input_image_mask.file_id": [
        responses(tools=[{"type": "image_generation", "input_image_mask": {"file_id": "f"}}]),
    ],
    "messages[1].content[1].file.file_id": [chat({"type": "file", "file": {"file_id": "f"}})],
    "messages[0].audio.id": [
        json.dumps(
            {"messages": [{"role": "assistant", "content": None, "audio": {"id": "audio_1"}}]}
        ).encode()
    ],
    "messages[1].content[1].source.file_id": [
        anthropic({"type": "image", "source": {"type": "file", "file_id": "f"}}),
        anthropic({"type": "document", "source": {"type": "file", "file_id": "f"}}),
    ],
    "messages[1].content[1].file_id": [anthropic({"type": "container_upload", "file_id": "f"})],
    "messages[1].content[1].content.content[0].file_id": [
        anthropic(
            {
                "type": "bash_code_execution_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": {
                    "type": "bash_code_execution_result",
                    "content": [{"type": "bash_code_execution_output", "file_id": "f"}],
                },
            }
        )
    ],
    "container": [anthropic(container="container_1")],
    "container.id": [anthropic(container={"id": "container_1"})],
    "container.skills[0].skill_id": [
        anthropic(container={"skills": [{"type": "custom", "skill_id": "skill_1"}]}),
    ],
    "diagnostics.previous_message_id": [anthropic(diagnostics={"previous_message_id": "msg_1"})],
    "something_later_id": [anthropic(something_later_id="x")],
    UNREADABLE: [
        responses(STORED).replace(b'"type": "item', b'"type": "message", "type": "item'),
        b'{"input":[],"input":[]}',
        b'{"input":"file_id","n":"\xff"}',
        b"[]",
        b"",
        b'{"a":' + b"[" * 100_000,
        '{"input":[]}'.encode("utf-16"),
        b'\xef\xbb\xbf{"input":[]}',
    ],
}


@pytest.mark.parametrize(
    ("path", "body"), [(path, body) for path, bodies in NAMED.items() for body in bodies]
)
@pytest.mark.parametrize("at_once", [stored_state.AT_ONCE, 8], ids=["whole", "in-pieces"])
def test_what_may_be_another_tenants_is_named(
    path: str, body: bytes, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_state, "AT_ONCE", at_once)

    assert named_in(body) == path


@pytest.mark.parametrize(
    "body",
    [
        responses(),
        responses({"type": "message", "id": "msg_1", "role": "assistant", "content": "yes"}),
        responses({"id": "msg_1", "role": "assistant", "content": "yes"}),
        responses({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}),
        responses({"type": "reasoning", "summary": []}),
        responses({"type": "function_call", "id": "fc_1", "arguments": '{"file_id": "a"}'}),
        responses({"type": "function_call_output", "id": "o", "call_id": "c", "output": ""}),
        responses({"type": "image_generation_call", "id": "ig_1", "result": "aGk="}),
        responses({"type": "web_search_call", "id": "ws_1", "action": {"type": "search"}}),
        responses(
            {"type": "mcp_approval_request", "id": "a", "arguments": "{}"},
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        ),
        responses(tools=[FUNCTION, AUTO]),
        responses(tools=[{"type": "mcp", "connector_id": "connector_gmail", "authorization": "t"}]),
        responses(previous_response_id=None, prompt=None, metadata={"order_id": "7"}),
        responses(text={"format": {"type": "json_schema", "schema": SCHEMA}}),
        b'{"input":"item_reference","big":1e999,"long":123456789012345678901234567890}',
        chat(user="u", tools=[{"type": "function", "function": {"parameters": SCHEMA}}]),
        json.dumps(
            {
                "messages": [
                    {
                        "role": "assistant",
                        "id": "msg_1",
                        "content": None,
                        "tool_calls": [
                            {"id": "call_1", "type": "function", "function": {"arguments": "{}"}},
                            {"id": "call_2", "function": {"arguments": ""}},
                        ],
                    },
                    {"role": "tool", "tool_call_id": "call_1", "content": "x"},
                ]
            }
        ).encode(),
        anthropic(CALL, {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}),
        anthropic({**CALL, "input": {}}),
        anthropic(metadata={"user_id": "u"}, tools=[{"name": "open", "input_schema": SCHEMA}]),
        anthropic({"type": "image", "source": {"type": "base64", "data": "aGk="}}),
        anthropic(container={"skills": [{"type": "anthropic", "skill_id": "pptx"}]}),
        b'{"messages":[{"role":"user","content":"half \\ud800 a pair"}]}',
    ],
)
@pytest.mark.parametrize("at_once", [stored_state.AT_ONCE, 256], ids=["whole", "in-pieces"])
def test_what_a_request_carries_itself_is_its_own(
    body: bytes, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_state, "AT_ONCE", at_once)

    assert named_in(body) == ""
