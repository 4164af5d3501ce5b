"""The injected tools and the texts that answer them (03 §4.1 and 4.4)."""

from __future__ import annotations

import hashlib
import json

import pytest

from dataplane.core.text import marker
from dataplane.core.tools import tool
from dataplane.core.wire.message import Dialect

ID = "91c9568c40c8d8d1"


def test_the_anthropic_definition_is_the_same_bytes_for_ever() -> None:
    definition = tool.DECLARED[Dialect.ANTHROPIC].definition

    assert len(definition) == 276
    assert (
        hashlib.sha256(definition).hexdigest()
        == "52687799cb0ccf79fa592f3d9a946930635af2b4a6ff384f79149fa4ef950973"
    )


def test_the_openai_definition_is_the_same_tool_in_the_form_of_its_dialect() -> None:
    definition = tool.DECLARED[Dialect.OPENAI_CHAT].definition
    anthropic = json.loads(tool.EXPAND_ANTHROPIC)

    assert definition == (
        b'{"type":"function","function":{"name":"context_guru_expand","description":"Return the '
        b"complete original text that a <<cg:HASH>> marker in this conversation stands for."
        b'","parameters":{"type":"object","properties":{"id":{"type":"string","description":'
        b'"The HASH of the marker to open."}},"required":["id"]}}}'
    )
    assert json.loads(definition)["function"]["parameters"] == anthropic["input_schema"]


def test_65_the_description_quotes_the_syntax_so_tools_are_never_searched() -> None:
    assert marker.find_in_json(tool.EXPAND_ANTHROPIC) == ["HASH"]
    assert not marker.is_minted_shape("HASH")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("context_guru_expand", True),
        ("context_guru_adjudicate", True),
        ("bash", False),
        ("", False),
    ],
)
def test_the_gateway_answers_its_own_two_tools_and_no_other(name: str, ours: bool) -> None:  # noqa: FBT001
    assert tool.is_injected(name) is ours


@pytest.mark.parametrize(
    ("name", "recalled", "marker_id", "text"),
    [
        pytest.param(tool.EXPAND, "the original", ID, "the original", id="78-original"),
        pytest.param(tool.EXPAND, "", ID, "", id="78-empty-original"),
        pytest.param(
            tool.EXPAND,
            None,
            ID,
            f"[context_guru_expand: the original for id {ID} is no longer available]",
            id="80-gone",
        ),
        pytest.param(
            tool.EXPAND,
            None,
            "../../etc",
            "[context_guru_expand: the original for id ../../etc is no longer available]",
            id="81-malformed",
        ),
        pytest.param(
            tool.EXPAND,
            None,
            None,
            "[context_guru_expand: the original for id  is no longer available]",
            id="81-no-id",
        ),
        pytest.param(
            tool.ADJUDICATE,
            None,
            None,
            "Context upkeep is automatic; nothing is needed from you. Continue with the task.",
            id="adjudicate",
        ),
    ],
)
def test_every_call_is_answered_by_an_explicit_text(
    name: str, recalled: str | None, marker_id: str | None, text: str
) -> None:
    assert tool.answer_text(name, recalled, marker_id) == text
