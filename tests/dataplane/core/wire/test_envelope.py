"""Edits outside the messages (03 §4.2)."""

from __future__ import annotations

import json

import pytest

from dataplane.core.wire.decode import decode
from dataplane.core.wire.envelope import (
    Declared,
    declare_tool,
    in_container,
    withdraw_tool,
)
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.splice import splice

TOOL = b'{"name":"context_guru_expand"}'
ENTRY = b'{"type":"function","name":"context_guru_expand"}'


def declared(body: bytes) -> bytes:
    conversation = decode(Dialect.ANTHROPIC, body)
    return splice(body, declare_tool(conversation, Declared(TOOL, ENTRY)))


@pytest.mark.parametrize(
    ("body", "result"),
    [
        pytest.param(
            b'{"messages":[] , "x":1 }', b'{"messages":[] , "x":1,"tools":[%b] }', id="missing"
        ),
        pytest.param(
            b'{"tools" : [ ], "messages":[]}', b'{"tools" : [ %b], "messages":[]}', id="empty"
        ),
        pytest.param(
            b'{"tools":[ {"name":"a"} , {"name":"b"} ],"messages":[]}',
            b'{"tools":[ {"name":"a"} , {"name":"b"} ,%b],"messages":[]}',
            id="filled",
        ),
        pytest.param(
            b'{"tools":[{"x":1e999}],"messages":[]}',
            b'{"tools":[{"x":1e999},%b],"messages":[]}',
            id="filled-unreadably",
        ),
        pytest.param(b'{"tools":null,"messages":[]}', b'{"tools":[%b],"messages":[]}', id="null"),
    ],
)
def test_the_tool_is_the_last_one_and_nothing_else_moves(body: bytes, result: bytes) -> None:
    assert declared(body) == result % TOOL


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param(b'{"type":"allowed_tools","mode":"auto","tools":[%b]}', id="responses"),
        pytest.param(
            b'{"type":"allowed_tools","allowed_tools":{"tools": [ %b ],"mode":"required"}}',
            id="chat",
        ),
    ],
)
@pytest.mark.parametrize("listed", [b'{"type":"function","name":"a"}', b""])
def test_the_tool_joins_those_that_the_client_lets_its_model_call(
    choice: bytes, listed: bytes
) -> None:
    body = b'{"messages":[],"tools":[{"name":"a"}],"tool_choice":' + choice % listed + b"}"

    found = json.loads(declared(body))["tool_choice"]
    allowed = found.get("allowed_tools", found)["tools"]

    assert allowed == [*json.loads(b"[" + listed + b"]"), json.loads(ENTRY)]


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[] , "x":1 }',
        b'{"messages":[],"tools":[ {"name":"a"} , {"name":"b"}]}',
        b'{"tools":[{"x":1e999}],"messages":[]}',
        b'{"tools":[{"name":"a"}],"messages":[],"tool_choice":{"type":"any"}}',
        b'{"tools":[{"name":"a"}],"messages":[],"tool_choice":{"type":"allowed_tools",'
        b'"mode":"auto","tools":[{"type":"function","name":"a"}]}}',
    ],
)
def test_a_tool_that_is_taken_back_leaves_the_body_as_it_came(body: bytes) -> None:
    assert withdraw_tool(declared(body), Declared(TOOL, ENTRY)) == body


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (b'{"a":1}', b'{"container":"c","a":1}'),
        (b"{}", b'{"container":"c"}'),
        (b'{"container":null,"a":1}', b'{"container":"c","a":1}'),
        (b'{"container":"old"}', b'{"container":"c"}'),
        (b'{"container":{"skills":[1]}}', b'{"container":{"id":"c","skills":[1]}}'),
        (b'{"container":{"id":"old","skills":[]}}', b'{"container":{"id":"c","skills":[]}}'),
        (b'{"container":{}}', b'{"container":{"id":"c"}}'),
    ],
)
def test_a_container_is_named_and_what_is_asked_of_it_stays(body: bytes, result: bytes) -> None:
    assert in_container(body, b'"c"') == result


def test_a_tool_that_nobody_put_there_is_not_taken() -> None:
    for body in (b'{"messages":[]}', b'{"tools":null}', b'{"tools":[{"name":"a"}]}'):
        assert withdraw_tool(body, Declared(TOOL, ENTRY)) == body
