"""format: compact JSON (01 §1.16 and 2.1, vectors 30-32)."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.components.format import (
    ALREADY_COMPACT,
    ENVELOPE_INNER_NOT_SMALLER,
    ENVELOPE_NO_EMBEDDED_JSON,
    ENVELOPE_NOT_OBJECT,
    JSON_PARSE_FAILED,
    NOT_JSON_SHAPED,
    Config,
    Outcomes,
    compact,
    decide,
    literal_pieces,
)
from dataplane.core.port.gates import BELOW_MIN_TOKENS, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate
from dataplane.core.port.turn import Decline, Rewrite, Turn
from dataplane.core.text.content import Content
from tests.dataplane.core.components.builders import PLAIN, only, output, outputs

SMALL = Config(min_tokens=1)
LONG = "an entry that is long enough to be worth opening, quite certainly so"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '{\n  "name": "ada",\n  "id": 1.50,\n  "tags": [ "x", "y" ],\n  "note": "a < b & c"\n}',
            '{"id":1.50,"name":"ada","note":"a < b & c","tags":["x","y"]}',
            id="01-vector-30",
        ),
        pytest.param(
            r'{"stdout":"{\n  \"total\": 3,\n  \"items\": [ 1, 2, 3 ],\n  '
            r'\"label\": \"pretty printed payload\"\n}","ok":true,"exit_code":0}',
            r'{"exit_code":0,"ok":true,"stdout":"{\"items\":[1,2,3],'
            r'\"label\":\"pretty printed payload\",\"total\":3}"}',
            id="01-vector-31",
        ),
        pytest.param(
            "  [ 12345678901234567890123, 1E5, -0, -0.0, 1e-7, 2.50E+08 ]\r\n",
            "[12345678901234567890123,1E5,-0,-0.0,1e-7,2.50E+08]",
            id="numbers stay as written",
        ),
        pytest.param(
            '{ "b" : null , "a" : true , "é" : "\\u00e9\\/\\ud83d\\ude00" , "B" : false }',
            '{"B":false,"a":true,"b":null,"é":"é/😀"}',
            id="keys by code point, characters raw",
        ),
        pytest.param(
            r'[ "\ud83d is half a character" , "tab\there" , "" ]',
            r'["\ud83d is half a character","tab\there",""]',
            id="what has no raw form stays escaped",
        ),
        pytest.param(
            '[ "\ue000" , "\\uE001\\ue002" , 7 ]',
            '["\ue000","\ue001\ue002",7]',
            id="private-use characters are text",
        ),
    ],
)
def test_a_document_is_written_without_white_space(text: str, expected: str) -> None:
    assert only(decide(outputs(text), SMALL, PLAIN)) == Rewrite(0, expected)


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        pytest.param("[1, 2]\nwarnings: 0 []", JSON_PARSE_FAILED, id="01-vector-32"),
        pytest.param('{"a": 1} {"a": 2}', JSON_PARSE_FAILED, id="two documents"),
        pytest.param('{"a": 1, "a": 2}', JSON_PARSE_FAILED, id="a repeated key"),
        pytest.param('[ {"x": {"a": 1, "a": 1}} ]', JSON_PARSE_FAILED, id="repeated deep inside"),
        pytest.param("[ NaN ]", JSON_PARSE_FAILED, id="not a JSON number"),
        pytest.param("[ 01 ]", JSON_PARSE_FAILED, id="a leading zero"),
        pytest.param('{ "a": "cut off', JSON_PARSE_FAILED, id="cut off"),
        pytest.param("[ " * 100_000, JSON_PARSE_FAILED, id="nested beyond any use"),
        pytest.param(
            json.dumps(["".join(map(chr, range(0xE000, 0xF900)))], ensure_ascii=False, indent=1),
            JSON_PARSE_FAILED,
            id="every private-use character, so that none can mark a number",
        ),
        pytest.param("plain text", NOT_JSON_SHAPED, id="text"),
        pytest.param('"a string"', NOT_JSON_SHAPED, id="a JSON string"),
        pytest.param("", NOT_JSON_SHAPED, id="empty"),
        pytest.param("\ufeff[ 1 ]", NOT_JSON_SHAPED, id="a byte order mark"),
        pytest.param("[1,2,3]", ENVELOPE_NOT_OBJECT, id="a compact array"),
        pytest.param('{"a":1}', ENVELOPE_NO_EMBEDDED_JSON, id="a compact object"),
        pytest.param('{"a":"{ }"}', ENVELOPE_NO_EMBEDDED_JSON, id="an inner text below 64 bytes"),
        pytest.param(
            json.dumps({"a": "{ " + LONG}, separators=(",", ":")),
            ENVELOPE_NO_EMBEDDED_JSON,
            id="an inner text that is not JSON",
        ),
        pytest.param(
            json.dumps({"a": json.dumps([LONG], separators=(",", ":"))}, separators=(",", ":")),
            ENVELOPE_INNER_NOT_SMALLER,
            id="an inner document that is compact already",
        ),
    ],
)
def test_an_output_is_left_alone_by(text: str, gate: Gate) -> None:
    assert only(decide(outputs(text), SMALL, PLAIN)) == Decline(gate, 0)


def test_an_inner_document_that_saves_bytes_but_no_token_is_already_compact() -> None:
    text = json.dumps({"out": f'[ "{LONG}"]'}, separators=(",", ":"))

    step = only(decide(outputs(text), SMALL, PLAIN))

    assert step == Decline(ALREADY_COMPACT, 0)


def test_only_the_inner_documents_that_become_shorter_are_rewritten() -> None:
    pretty, dense = json.dumps([LONG, 1], indent=2), json.dumps([LONG, 1], separators=(",", ":"))
    text = json.dumps({"a": pretty, "b": dense, "c": pretty, "d": "{ " + LONG, "e": 1.50})

    step = only(decide(outputs(text), SMALL, PLAIN))

    assert isinstance(step, Rewrite)
    assert json.loads(step.text) == {"a": dense, "b": dense, "c": dense, "d": "{ " + LONG, "e": 1.5}


def test_json_quoted_two_levels_deep_stays_as_it_is() -> None:
    pretty = json.dumps([LONG, 1], indent=2)
    text = json.dumps({"outer": json.dumps({"inner": pretty}, indent=2)})

    step = only(decide(outputs(text), SMALL, PLAIN))

    assert isinstance(step, Rewrite)
    assert json.loads(json.loads(step.text)["outer"])["inner"] == pretty


def test_outcomes_are_remembered_until_they_outgrow_their_room() -> None:
    outcomes = Outcomes(max_chars=40)
    small, large = Content('[ "a", "b" ]'), Content(json.dumps(["a" * 40, "b"], indent=4))

    first = outcomes.of(small)

    assert outcomes.of(small) is first
    assert outcomes.of(large) == json.dumps(["a" * 40, "b"], separators=(",", ":"))
    assert outcomes.of(small) == first
    assert outcomes.of(small) is not first


def test_the_size_is_looked_at_after_the_shape() -> None:
    steps = list(decide(outputs("[ 1, 2 ]", "short"), Config(min_tokens=50), PLAIN))

    assert steps == [Decline(BELOW_MIN_TOKENS, 0), Decline(NOT_JSON_SHAPED, 1)]


def test_an_output_with_an_image_in_it_is_declined() -> None:
    step = only(decide((output("[ 1, 2 ]", rewritable=False),), SMALL, PLAIN))

    assert step == Decline(NON_TEXT_BLOCKS, 0)


def test_the_cached_prefix_does_not_matter_because_the_rewrite_is_always_the_same() -> None:
    turn = Turn(cache_aware=True, cached_through=0)

    assert only(decide(outputs('[ "a", "b" ]'), SMALL, turn)) == Rewrite(0, '["a","b"]')


class Written(str):
    """A number as the document spells it."""


NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?\Z")
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.text() | NUMBERS.map(Written),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def spelled(value: object, space: str, *, ascii_only: bool) -> str:
    """A JSON text with the white space put wherever it is allowed."""

    def written(inner: object) -> str:
        return spelled(inner, space, ascii_only=ascii_only)

    if isinstance(value, Written):
        return str(value)
    if isinstance(value, list):
        return f"[{space}{f'{space},{space}'.join(map(written, value))}]"
    if isinstance(value, dict):
        members = (f"{written(name)}{space}:{written(inner)}" for name, inner in value.items())
        return f"{{{f'{space},'.join(members)}{space}}}"
    return json.dumps(value, ensure_ascii=ascii_only)


def parsed(text: str) -> object:
    return json.loads(text, parse_int=Written, parse_float=Written)


@given(
    value=st.lists(DOCUMENTS, max_size=4) | st.dictionaries(st.text(), DOCUMENTS, max_size=4),
    space=st.sampled_from(["", " ", "\n  ", "\r\n\t"]),
    ascii_only=st.booleans(),
)
def test_the_compact_text_is_the_same_document_number_for_number(
    value: object,
    space: str,
    ascii_only: bool,  # noqa: FBT001
) -> None:
    text = spelled(value, space, ascii_only=ascii_only)

    shorter = compact(text)

    assert shorter is not None
    assert parsed(shorter) == parsed(text)
    assert len(shorter) <= len(text)
    assert compact(shorter) == shorter


@pytest.mark.parametrize("block", [{"min_tokens": 0}, {"marker_mode": "full"}])
def test_a_wrong_block_is_refused(block: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(block, Config)


documents = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=30,
)


@given(documents, st.integers(0, 60))
def test_a_long_document_in_pieces_is_the_document(document: object, doublings: int) -> None:
    """size: up to where each member is a piece of its own."""
    whole = json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    assert "".join(literal_pieces(document, 1 << doublings)) == compact(whole)
