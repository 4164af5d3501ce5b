"""What is read of a long text in pieces is what is read of the whole."""

from __future__ import annotations

import hashlib
import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.text import content, marker
from dataplane.core.wire import pieces, spans

IDS = r"[A-Za-z0-9_-]{1,64}"
FRAGMENTS = [
    *("<", "<<", "cg:", "abc", ">>", ">", "<<cg:0123456789abcdef>>", r"\u003c", r"\u003C", "&lt;"),
    *("&LT;", "c", r"\u003e", " ", "\n", "\t\x0b", "\x1c", "\xa0", "é", "漢", "😀", "\ud83d"),
]
texts = st.lists(st.sampled_from(FRAGMENTS)).map("".join)
# Escapes of every kind, and characters of every length.
WRITTEN = [
    *(r"\n", r"\\", r"\"", r"\/", "\\u00e9", "\\ud83d\\ude00", "\\uD83D\\uDE00", "\\u6f22"),
    *("a", "plain text of some length", "é", "漢", "😀", "u", "d83d", "0041"),
]
literals = st.lists(st.sampled_from(WRITTEN)).map(lambda parts: f'"{"".join(parts)}"'.encode())


@pytest.fixture(autouse=True, params=[16, 24, 33])
def _small_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((pieces, "PIECE_BYTES"), (content, "_PIECE_BYTES")):
        monkeypatch.setattr(module, name, request.param)
    monkeypatch.setattr(pieces, "_LOOK_BACK", 8)


@given(literals)
def test_a_string_in_pieces_is_the_string(literal: bytes) -> None:
    assert pieces.text_of(literal) == msgspec.json.decode(literal)


@given(literals)
def test_pieces_are_the_whole_and_each_can_be_read(literal: bytes) -> None:
    cut = list(pieces.pieces(literal, 1, len(literal) - 1))

    assert b"".join(cut) == literal[1:-1]
    assert all(isinstance(msgspec.json.decode(b'"%b"' % bytes(each)), str) for each in cut)


@pytest.mark.parametrize("wrong", [b"12345678901234567890", b"[" + b'"a",' * 20 + b'"b"]'])
def test_another_value_than_a_string_is_refused(wrong: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        pieces.text_of(wrong)


@given(st.lists(st.sampled_from([*WRITTEN, "\\ud83d", "\\udE00", "\\\\ud83d"])))
def test_a_lone_surrogate_is_found_wherever_a_piece_ends(written: list[str]) -> None:
    body = f'{{"a":"{"".join(written)}"}}'.encode()
    whole = spans._SURROGATE.sub(spans._readable, body)

    assert spans.without_lone_surrogates(body) == (None if whole == body else whole)


@given(texts)
def test_a_content_key_in_pieces_is_that_of_the_whole(text: str) -> None:
    bare = re.sub(f"<<cg:{IDS}>>", "", text)
    folded = re.sub(r"[ \t\n\r\f\v]+", " ", bare).strip(" ").encode("utf-8", "replace")

    assert content.content_key(text) == hashlib.sha256(folded).hexdigest()[:24]


@given(texts)
def test_markers_are_found_as_one_pattern_would_find_them(text: str) -> None:
    assert marker.find(text) == re.findall(f"<<cg:({IDS})>>", text)
    assert marker.without(text) == re.sub(f"<<cg:{IDS}>>", "", text)


@given(texts)
def test_markers_in_json_are_found_as_one_pattern_would_find_them(text: str) -> None:
    for raw in (text.encode("utf-8", "replace"), json.dumps(text).encode()):
        one = rb"(?:<|\\u003[cC]){2}cg:(%b)(?:>|\\u003[eE]){2}" % IDS.encode()
        assert marker.find_in_json(raw) == [each.decode() for each in re.findall(one, raw)]


@given(texts)
def test_openings_are_broken_up_as_one_pattern_would(text: str) -> None:
    one = re.compile(r"(?i:<|\\u003c|&lt;){2}(?=cg:)")

    assert marker.defang(text) == one.sub(r"\g<0> ", text)
