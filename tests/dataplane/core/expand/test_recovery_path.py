"""A marker is redeemable on its own request, or it is not written (00 §2 (rows 26, 28))."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.expand.recovery_path import RecoveryPath, recovery_path
from dataplane.core.tools.tool import EXPAND
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Dialect

CHAT, CLAUDE, RESPONSES = Dialect.OPENAI_CHAT, Dialect.ANTHROPIC, Dialect.OPENAI_RESPONSES
NAMED: dict[str, Any] = {"type": "function", "function": {"name": "a"}}


def path(
    dialect: Dialect = CHAT,
    *,
    offers: bool = True,
    always: bool = False,
    was_offered: bool = False,
    tools: tuple[str, ...] = ("a",),
    **members: Any,
) -> RecoveryPath:
    declared = [{"name": name} for name in tools]
    body = {dialect.list_name: [], **({"tools": declared} if tools else {}), **members}
    return recovery_path(
        decode(dialect, json.dumps(body).encode()),
        offers=offers,
        always=always,
        was_offered=was_offered,
    )


OPEN = RecoveryPath(declares=True, redeems=True, watches=True)
CLOSED = RecoveryPath()


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(
    ("choice", "redeems"),
    [
        (None, True),
        ("auto", True),
        ("required", True),
        ({"type": "any"}, True),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, True),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}, True),
        ({"type": "allowed_tools", "mode": "auto"}, False),
        ("none", False),
        ({"type": "none"}, False),
        ({"type": "tool", "name": "a"}, False),
        (NAMED, False),
        ({"type": "a form of next year"}, False),
    ],
)
def test_the_tool_stands_whatever_the_choice_and_markers_leave_only_where_it_may_be_called(
    dialect: Dialect, choice: object, *, redeems: bool
) -> None:
    assert path(dialect, tool_choice=choice) == OPEN._replace(redeems=redeems)


@pytest.mark.parametrize("was_offered", [True, False])
def test_what_an_earlier_turn_was_offered_makes_no_marker_redeemable(*, was_offered: bool) -> None:
    found = path(offers=False, was_offered=was_offered)

    assert found == RecoveryPath(declares=False, redeems=False, watches=was_offered)


@pytest.mark.parametrize(
    ("dialect", "members"),
    [
        pytest.param(CHAT, {"n": 2}, id="several choices"),
        pytest.param(CHAT, {"n": 1.0}, id="perhaps several choices"),
        pytest.param(RESPONSES, {"background": True}, id="in the background"),
    ],
)
def test_an_answer_that_is_not_read_here_gets_neither_tool_nor_new_marker(
    dialect: Dialect, members: dict[str, Any]
) -> None:
    assert path(dialect, always=True, **members) == CLOSED._replace(answers=False)


def test_a_conversation_whose_answers_nobody_keeps_has_the_tool_and_no_new_marker() -> None:
    named: dict[str, Any] = {"conversation": {"id": "conv_1"}}

    assert path(RESPONSES, **named) == path(RESPONSES, conversation=None, store=False) == OPEN
    assert path(RESPONSES, store=False, **named) == OPEN._replace(redeems=False)


@pytest.mark.parametrize("goes_on", ["previous_response_id", "conversation"])
def test_where_the_provider_holds_the_turn_that_had_the_tool_it_stands_there_again(
    goes_on: str,
) -> None:
    members: dict[str, Any] = {goes_on: "known"}

    assert path(RESPONSES, tools=(), was_offered=True, **members) == OPEN
    assert path(RESPONSES, tools=(), **members) == CLOSED
    assert not path(RESPONSES, tools=(), was_offered=True).declares


def test_a_client_without_tools_gets_ours_only_if_it_is_always_declared() -> None:
    assert path(tools=()) == CLOSED
    assert path(tools=(), always=True) == OPEN


def test_a_tool_that_the_client_brings_is_not_declared_again() -> None:
    assert path(tools=("a", EXPAND)) == OPEN._replace(declares=False)
    assert path(tools=(EXPAND,), offers=False).redeems


def test_a_call_in_the_transcript_is_looked_out_for() -> None:
    said = {"role": "assistant", "content": f"I called {EXPAND}."}

    assert path(CLAUDE, offers=False, messages=[said]) == RecoveryPath(watches=True)
