"""cachesplit: where a system text may be split (01 §2.18, vector 49)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.components.cachesplit import (
    COMPONENT,
    SMALLEST_STABLE_BYTES,
    rewrite,
    split_point,
)
from dataplane.core.port.declaration import Kind
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.splice import splice

HEADINGS = (
    "\nRecent commits:\n",
    "\nCurrent branch: ",
    "\ngitStatus:",
    "\nHere is a snapshot of the current directory",
)
STABLE = "You are careful.\n" * 300  # more than 4096 bytes
VOLATILE = "Recent commits:\nabc fix\n"
MARK = {"type": "ephemeral"}


def test_the_cut_is_behind_the_new_line_before_the_heading() -> None:
    """01-vector-49"""
    text = "S" * 4200 + "\nCurrent branch: main\nx"

    cut = split_point(text)

    assert cut is not None
    assert (text[:cut], text[cut:]) == ("S" * 4200 + "\n", "Current branch: main\nx")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("S" * 4000 + "\nCurrent branch: main\nx", id="01-vector-49-short"),
        pytest.param("S" * 9000, id="no heading"),
        pytest.param("S" * 5000 + " Current branch: main", id="the heading begins no line"),
        pytest.param("S" * 10 + "\ngitStatus:" + "x" * 9000, id="a short stable half"),
        pytest.param("\ngitStatus:" + "S" * 5000 + "\nCurrent branch: x", id="the earliest counts"),
        pytest.param("", id="empty"),
    ],
)
def test_a_text_is_left_whole_when(text: str) -> None:
    assert split_point(text) is None


def test_the_stable_half_is_measured_in_bytes_with_its_new_line() -> None:
    two_byte = "é" * (SMALLEST_STABLE_BYTES // 2 - 1)

    assert split_point(two_byte + "x\ngitStatus: clean") == len(two_byte) + 2
    assert split_point(two_byte + "\ngitStatus: clean") is None


@given(
    stable=st.text(st.sampled_from("aé🟢\n"), max_size=20),
    heading=st.sampled_from(HEADINGS),
    volatile=st.text(max_size=20),
)
def test_both_halves_hold_text_and_concatenate_to_the_input(
    stable: str, heading: str, volatile: str
) -> None:
    text = "S" * SMALLEST_STABLE_BYTES + stable + heading + volatile

    cut = split_point(text)

    assert cut is not None
    assert text[cut:].startswith(heading[1:])
    assert text[:cut].endswith("\n")
    assert text[:cut] + text[cut:] == text


def test_it_takes_no_keys_and_decides_nothing_about_tool_outputs() -> None:
    assert (COMPONENT.kind, COMPONENT.config, COMPONENT.decide) == (Kind.ENVELOPE, None, None)


def split(*blocks: Any, **members: Any) -> list[dict[str, Any]] | None:
    """The system blocks after the split; None when there was none."""
    body = json.dumps({"system": list(blocks), "messages": [], **members}).encode()
    edits = rewrite(decode(Dialect.ANTHROPIC, body))
    if not edits:
        return None
    found: list[dict[str, Any]] = json.loads(splice(body, edits))["system"]
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

    assert rewrite(decode(Dialect.ANTHROPIC, body)) == []


def test_a_request_without_system_prompt_is_left_alone() -> None:
    assert rewrite(decode(Dialect.ANTHROPIC, b'{"messages":[]}')) == []
