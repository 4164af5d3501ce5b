"""What a Responses body may not name under a key that tenants share: case 14 of 03 10.1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.wire.stored_state import may_be_named

MESSAGE = {"role": "user", "content": "Where is file_id set? See item_reference in container.py."}
AUTO = {"type": "code_interpreter", "container": {"type": "auto"}}
FUNCTION = {
    "type": "function",
    "name": "open",
    "parameters": {"type": "object", "properties": {"file_id": {"type": "string"}}},
}
STORED = {"type": "item_reference", "id": "msg_1"}


def body(*items: Any, **members: Any) -> bytes:
    return json.dumps({"model": "m", "input": [MESSAGE, *items], **members}).encode()


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param(body(STORED), id="14-reference"),
        pytest.param(body({"id": "msg_1"}), id="14-reference-without-type"),
        pytest.param(body({"id": "msg_1", "type": None}), id="14-reference-of-null-type"),
        pytest.param(body(STORED).replace(b"item_ref", b"i\\u0074em_ref"), id="14-escaped-letter"),
        pytest.param(
            body(STORED).replace(b'"type": "item', b'"type": "message", "type": "item'),
            id="14-named-twice",
        ),
        pytest.param(
            body({"type": "function_call_output", "output": [{"file_id": "f"}]}), id="14-output"
        ),
        pytest.param(body(tools=[{"type": "file_search", "vector_store_ids": ["v"]}]), id="14-vs"),
        pytest.param(
            body(tools=[{**AUTO, "container": {"type": "auto", "file_ids": ["f"]}}]), id="14-files"
        ),
        pytest.param(body(tools=[{**AUTO, "container": "cntr_1"}]), id="14-container"),
        pytest.param(body(prompt={"id": "pmpt_1"}), id="14-prompt"),
        pytest.param(b'{"input":"file_id","n":"\xff"}', id="14-not-utf-8"),
    ],
)
def test_what_may_be_another_tenants_is_found(inside: bytes) -> None:
    assert may_be_named(inside)


@pytest.mark.parametrize(
    "inside",
    [
        body(),
        body({"type": "message", "id": "msg_1", "role": "assistant", "content": []}),
        body({"type": "reasoning", "id": "rs_1", "summary": []}),
        body({"type": "function_call", "id": "fc_1", "arguments": '{"file_id": "a"}'}),
        body(tools=[FUNCTION, AUTO]),
        body(previous_response_id=None, prompt=None),
        b'{"input":"item_reference","big":1e999,"long":123456789012345678901234567890}',
    ],
)
def test_what_a_request_carries_itself_is_its_own(inside: bytes) -> None:
    assert not may_be_named(inside)
