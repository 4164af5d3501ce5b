"""Depth of nesting (03-proxy-and-recovery.md 10.2 (34))."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.wire.decode import decode
from dataplane.core.wire.depth import MAX_DEPTH, is_too_deep
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import UnparseableError


def nested(levels: int, inner: str = "1") -> bytes:
    return ('{"a":[' * (levels // 2) + inner + "]}" * (levels // 2)).encode()


@pytest.mark.parametrize("inner", ["1", '"]]]]}}}}"', '"[[[[{{{{"', r'"\"\\"', r'"[\\\"["'])
def test_the_deepest_level_that_is_read_is_128(inner: str) -> None:
    assert not is_too_deep(nested(MAX_DEPTH, inner))
    assert is_too_deep(nested(MAX_DEPTH + 2, inner))


def test_brackets_side_by_side_or_in_texts_are_not_depth() -> None:
    assert not is_too_deep(b"[" + b",".join([b"[]"] * 1000) + b"]")
    assert not is_too_deep(json.dumps(["[{" * 1000, '"[' * 1000, "\\[" * 1000]).encode())


@given(
    st.recursive(
        st.text(alphabet='[]{}"\\a'),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='[]{}"\\a'), inner),
    )
)
def test_texts_never_hide_or_feign_depth(value: object) -> None:
    written = json.dumps(value)
    deep = "[" * MAX_DEPTH + written + "]" * MAX_DEPTH

    assert is_too_deep(deep.encode()) is not isinstance(value, str)
    assert not is_too_deep(f"[{written},{written}]".encode() if _depth(value) < 120 else b"")


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_depth, inner), default=0) + 1


@pytest.mark.parametrize("levels", [500, 100_000])
def test_case_34_a_body_that_is_nested_too_deep_is_not_edited(levels: int) -> None:
    body = b'{"messages":[],"x":' + nested(levels) + b"}"

    with pytest.raises(UnparseableError):
        decode(Dialect.ANTHROPIC, body)
