"""Syntax and structure of a document: 04 §2.5, first table."""

from __future__ import annotations

import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.compose import MAX_ALIASES, MAX_NODES
from dataplane.core.config.parse import MAX_BYTES, parse
from dataplane.core.config.scalars import resolve
from dataplane.core.config.tree import MAX_DEPTH, to_values
from tests.dataplane.core.config.checking import checked, place

VALID = """\
# a comment
pipeline: [mask, format]
components:
  mask: &m {keep_recent: 3, marker_mode: off}
  dedup:
    min_tokens: 100
store: {enabled: true, ttl_seconds: 1e3}
"""


def values(text: bytes | str) -> object:
    parsed = parse(text)
    assert parsed.tree is not None
    return to_values(parsed.tree)


def found(text: bytes | str) -> list[str]:
    return [place(problem) for problem in parse(text).problems]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("off", "off", id="04-V-03-off"),
        ("no", "no"),
        ("yes", "yes"),
        ("010", 10),
        ("0o10", 8),
        ("0xfF", 255),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("true", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("~", None),
        ("Null", None),
        ("", None),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1e3", -1000.0),
        ("+7", 7),
        ("=", "="),
        ("'true'", "true"),
        ('"1"', "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
        ("! 1", "1"),
    ],
)
def test_a_plain_scalar_means_what_yaml_1_2_says(written: str, value: object) -> None:
    read = values(f"a: {written}\n")

    assert read == {"a": value}
    assert type(read["a"]) is type(value)


def test_a_json_document_is_a_document() -> None:
    document = {"pipeline": ["mask"], "components": {"mask": {"min_tokens": 5, "x": [1.5, None]}}}

    assert values(json.dumps(document, indent="\t")) == document


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param("a: [1,\n b: }", ["config.syntax 2:5"], id="value-missing"),
        pytest.param("a:\n\t- b\n", ["config.syntax 2:1"], id="tab"),
        pytest.param("a: b: c\n", ["config.syntax 1:5"], id="two-colons"),
        pytest.param("a: *b\n", ["config.syntax 1:4 /a"], id="alias-of-nothing"),
        pytest.param("a: &a [*a]\n", ["config.syntax 1:8 /a/0"], id="alias-in-itself"),
        pytest.param(b"a: b\nc: \xff\n", ["config.encoding 2:4"], id="not-utf8"),
        pytest.param("a: \x00\n", ["config.encoding 1:4"], id="nul"),
        pytest.param("a: \x07\nb: \x1b", ["config.encoding 1:4", "config.encoding 2:4"], id="c0"),
        pytest.param('a: "\\0"\n', ["config.encoding 1:4 /a"], id="escaped-nul"),
        pytest.param("a: \ud800\n", ["config.encoding 1:4"], id="lone-surrogate"),
        pytest.param("a: 1\n---\nb: 2\n", ["config.multiple_documents 2:1"], id="two-documents"),
        pytest.param("- a\n", ["config.not_a_mapping 1:1"], id="list"),
        pytest.param("a\n", ["config.not_a_mapping 1:1"], id="scalar"),
        pytest.param(
            "a:\n  b: 1\n  c: 2\n  b: 3\n", ["config.duplicate_key 4:3 /a/b"], id="04-V-04"
        ),
        pytest.param("é: 1\ne\u0301: 2\n", ["config.duplicate_key 2:1 /e\u0301"], id="same-in-nfc"),
        pytest.param(
            "1: a\ntrue: b\n",
            ["config.non_string_key 1:1 /1", "config.non_string_key 2:1 /true"],
            id="not-text",
        ),
        pytest.param("? [a]\n: 1\n", ["config.non_string_key 1:3"], id="list-as-key"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x\n", ["config.merge_key 3:3 /c/<<"], id="merge"),
        pytest.param(
            "a: !foo 1\nb: !!set {c}\nd: !!int x\n",
            [
                "config.unsupported_tag 1:4 /a",
                "config.unsupported_tag 2:4 /b",
                "config.unsupported_tag 3:4 /d",
            ],
            id="tags",
        ),
        pytest.param("", ["config.empty_document -"], id="empty"),
        pytest.param("# only words\n", ["config.empty_document -"], id="comment-only"),
        pytest.param("---\n", ["config.empty_document 2:1"], id="null-document"),
    ],
)
def test_a_fault_of_structure_is_named_at_its_place(text: bytes | str, places: list[str]) -> None:
    assert found(text) == places


def test_a_quoted_merge_sign_is_an_ordinary_key() -> None:
    assert values("'<<': 1\n") == {"<<": 1}


def test_a_number_of_many_digits_is_an_infinity() -> None:
    assert values(f"[{'9' * 5000}, -{'9' * 5000}, 0x{'f' * 5000}]\n".join(("a: ", ""))) == {
        "a": [math.inf, -math.inf, math.inf]
    }


@pytest.mark.parametrize("digits", [308, 309, 310, 400])
@pytest.mark.parametrize("sign", ["", "-", "0x"])
def test_a_number_is_held_or_an_infinity(digits: int, sign: str) -> None:
    number = resolve(f"{sign}{'9' * digits}")

    assert isinstance(number, int | float)
    assert abs(number) <= sys.float_info.max or math.isinf(number)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: [c,\n d\ne: 1\n", "the list that begins with [ on line 2 is not closed"),
        ("a: 1\nb: {c: 1,\n d: 2\n\n", "the block that begins with { on line 2 is not closed"),
        ('a: 1\nb: "c\nd: 1\n', "the quoted text that begins on line 2 is not closed"),
        ("[a]\nb = 1\n", "what stands here belongs to nothing above it"),
    ],
)
def test_what_was_never_closed_is_named_with_the_line_that_began_it(text: str, said: str) -> None:
    (problem,) = parse(text).problems

    assert said in problem.message


def test_an_alias_of_a_scalar_keeps_its_value() -> None:
    assert values("a: &x '1'\nb: *x\n") == {"a": "1", "b": "1"}


def test_a_duplicate_key_names_both_places() -> None:
    (problem,) = parse("a: 1\nb: 2\na: 3\n").problems

    assert (
        problem.message == "Duplicate key a: first at line 1, column 1, again at line 3, column 1."
    )


def test_a_duplicate_key_in_json_is_refused_as_in_yaml() -> None:
    assert found('{"store": {"enabled": true,\n "enabled": false}}') == [
        "config.duplicate_key 2:2 /store/enabled"
    ]


def test_columns_count_code_points_and_utf16_units_apart() -> None:
    (problem,) = parse("{é: 1, '😀': 2, é: 3}\n").problems

    assert (problem.column, problem.column_utf16, problem.end_column) == (16, 17, 17)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_every_line_end_counts_as_one_line(ends: str) -> None:
    assert found(f"a: 1{ends}{ends}a: 2{ends}") == ["config.duplicate_key 3:1 /a"]


def test_old_line_ends_are_ordinary_text() -> None:
    text = "a: x\x85y\u2028z\nb: 1\n"

    assert values(text) == {"a": "x\x85y\u2028z", "b": 1}
    assert found(text + "b: 2\n") == ["config.duplicate_key 3:1 /b"]


def test_a_byte_order_mark_is_not_part_of_the_document() -> None:
    assert values(b"\xef\xbb\xbfa: 1\n") == {"a": 1}


def test_a_document_may_be_as_large_as_the_limit_and_no_larger() -> None:
    assert values("a: 1\n" + "#" * (MAX_BYTES - 5)) == {"a": 1}
    assert found("a: 1\n" + "#" * (MAX_BYTES - 4)) == ["config.too_large -"]


def test_nesting_is_limited_through_aliases_too() -> None:
    deep = "a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    half = f"a: &x {'[' * 12}{']' * 12}\nb: "

    assert found(deep) == []
    assert [problem.code for problem in parse(deep.replace("[]", "[[]]")).problems] == [
        "config.too_deep"
    ]
    assert found(half + "[" * 7 + "*x" + "]" * 7) == []
    assert [problem.code for problem in parse(half + "[" * 8 + "*x" + "]" * 8).problems] == [
        "config.too_deep"
    ]


def test_an_alias_stands_where_it_is_written() -> None:
    parsed = parse("a: &x {b: 1}\nc: *x\n")

    assert parsed.tree is not None
    entry = parsed.tree.get("c")
    assert entry is not None
    assert entry.value.span is not None
    assert (entry.value.span.line, entry.value.span.column) == (2, 4)
    assert to_values(parsed.tree) == {"a": {"b": 1}, "c": {"b": 1}}


def test_an_alias_bomb_is_refused_by_counting() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 15)]
    bomb = "\n".join(lines) + "\n#" + "x" * 200_000

    (problem,) = parse(bomb).problems

    assert problem.code == "config.too_many_nodes"
    assert str(MAX_ALIASES)[:1] in problem.message
    assert problem.line == 4


def test_values_are_counted_with_what_aliases_repeat() -> None:
    many = ", ".join(["x"] * (MAX_NODES // 2 - 4))

    assert found(f"a: &a [{many}]\n") == []
    assert found(f"a: &a [{many}]\nb: *a\nc: *a\n") == ["config.too_many_nodes 3:4 /c"]


def test_a_problem_before_a_syntax_error_is_reported_with_it() -> None:
    assert [problem.code for problem in parse("a: 1\na: 2\nb: [\n").problems] == [
        "config.duplicate_key",
        "config.syntax",
    ]


@given(st.binary(max_size=200))
def test_any_bytes_give_an_answer(raw: bytes) -> None:
    assert checked(raw) == checked(raw)


@given(
    st.integers(0, len(VALID) - 1),
    st.integers(0, 8),
    st.text(alphabet="abc:-[]{}&*!|>'\"%@`#,? \n\t\x00é😀0\u2028<~", max_size=8),
)
def test_any_change_of_a_valid_document_gives_an_answer(at: int, cut: int, put: str) -> None:
    outcome = checked(VALID[:at] + put + VALID[at + cut :])

    assert bool(outcome.errors) == (outcome.effective is None)
