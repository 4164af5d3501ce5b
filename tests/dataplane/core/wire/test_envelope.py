"""Edits outside the messages (03 §4.2; 01 §2.18 and 6.12)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.expand.tool import Declared
from dataplane.core.wire.decode import decode
from dataplane.core.wire.envelope import (
    declare_tool,
    in_container,
    split_volatile_tail,
    withdraw_tool,
)
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.splice import splice

TOOL = b'{"name":"context_guru_expand"}'
ENTRY = b'{"type":"function","name":"context_guru_expand"}'
STABLE = "You are careful.\n" * 300  # more than 4096 bytes
VOLATILE = "Recent commits:\nabc fix\n"
MARK = {"type": "ephemeral"}


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


def split(*blocks: Any, **members: Any) -> list[dict[str, Any]] | None:
    """The system blocks after the split; None when there was none."""
    body = json.dumps({"system": list(blocks), "messages": [], **members}).encode()
    edit = split_volatile_tail(decode(Dialect.ANTHROPIC, body))
    if edit is None:
        return None
    found: list[dict[str, Any]] = json.loads(splice(body, [edit]))["system"]
    return found


def text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(text(STABLE + VOLATILE), id="49-unmarked"),
        pytest.param(text(STABLE + VOLATILE, cache_control=MARK), id="49-marked-last"),
        pytest.param({"cache_control": MARK, **text(STABLE + VOLATILE)}, id="49-marked-first"),
        pytest.param(
            {"type": "text", "cachePoint": {}, "text": STABLE + VOLATILE}, id="49-cachepoint"
        ),
    ],
)
def test_the_halves_read_as_the_whole_and_only_the_stable_one_is_marked(block: Any) -> None:
    halves = split(text("short"), block, text("after"))

    assert halves is not None
    assert [half.pop("text") for half in halves] == ["short", STABLE, VOLATILE, "after"]
    assert halves[1] == {name: value for name, value in block.items() if name != "text"}
    assert halves[2] == {"type": "text"}


def test_the_first_block_that_has_a_split_point_is_split() -> None:
    halves = split(text(STABLE + VOLATILE), text(STABLE + "Current branch: main"))

    assert halves is not None
    assert len(halves) == 3


def test_a_block_with_nothing_but_text_and_mark_is_split_to_valid_json() -> None:
    halves = split({"cache_control": MARK, "text": STABLE + VOLATILE})

    assert halves == [{"cache_control": MARK, "text": STABLE}, {"text": VOLATILE}]


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([], id="none"),
        pytest.param([text(STABLE)], id="nothing-volatile"),
        pytest.param([text("short\n" + VOLATILE)], id="49-head-too-small"),
        pytest.param([{"type": "text"}], id="no-text"),
        pytest.param([{"type": "text", "text": 5}], id="no-string"),
        pytest.param(
            [text(STABLE + VOLATILE, cache_control=MARK, cachePoint={})], id="two-kinds-of-mark"
        ),
    ],
)
def test_what_does_not_qualify_is_left_alone(blocks: list[Any]) -> None:
    assert split(*blocks) is None


@pytest.mark.parametrize("system", [b'"text"', b"null"])
def test_a_system_prompt_that_is_no_list_is_left_alone(system: bytes) -> None:
    body = b'{"messages":[],"system":' + system + b"}"

    assert split_volatile_tail(decode(Dialect.ANTHROPIC, body)) is None


def test_a_request_without_system_prompt_is_left_alone() -> None:
    assert split_volatile_tail(decode(Dialect.ANTHROPIC, b'{"messages":[]}')) is None
