"""The marker: written, found, made harmless (03 §3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.text import marker
from dataplane.core.text.content import Content

ID = "91c9568c40c8d8d1"


def test_62_the_marker_of_an_original_carries_its_digest_and_the_hint_follows() -> None:
    written = marker.token(Content("x" * 4000).marker_id) + marker.HINT

    assert written == f"<<cg:{ID}>> [full output: call context_guru_expand]"
    assert marker.find(written) == [ID]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        pytest.param(rb"\u003c\u003cCG:91c9568c40c8d8d1\u003e\u003e", [], id="64-wrong-case"),
        pytest.param(rb"\u003C\u003ccg:91c9568c40c8d8d1\u003e\u003E", [ID], id="64-mixed-case"),
        pytest.param(rb"<<cg:91c9568c40c8d8d1>>", [ID], id="64-unescaped"),
        pytest.param(rb"<\u003ccg:91c9568c40c8d8d1>\u003e", [ID], id="64-mixed-use"),
        pytest.param(rb"<<cg:>> <cg:91c9568c40c8d8d1>> << cg:a>>", [], id="64-not-markers"),
        pytest.param(b"<<cg:" + b"a" * 65 + b">>", [], id="64-too-long"),
    ],
)
def test_markers_are_found_in_raw_json_however_an_encoder_spelt_them(
    raw: bytes, found: list[str]
) -> None:
    assert marker.find_in_json(raw) == found


def test_67_a_text_that_we_compose_carries_no_marker_of_its_content() -> None:
    assert marker.defang(f"see <<cg:{ID}>>") == f"see << cg:{ID}>>"


@pytest.mark.parametrize(
    ("opening", "harmless"),
    [
        ("<<", "<< "),
        (r"\u003c\u003C", r"\u003c\u003C "),
        ("&lt;&lt;", "&lt;&lt; "),
        ("<&LT;", "<&LT; "),
    ],
)
def test_every_spelling_of_the_opening_is_broken(opening: str, harmless: str) -> None:
    assert marker.defang(f"a {opening}cg:{ID}>>") == f"a {harmless}cg:{ID}>>"


@given(st.lists(st.sampled_from(["<", "<<", "cg:", "a1", ">>", "⟪", "cg", "⟫", "⟪cg⟫", " "])))
def test_whatever_is_nested_nothing_is_left_to_be_found(pieces: list[str]) -> None:
    harmless = marker.defang("".join(pieces))

    assert not marker.carries_placeholder(harmless)


@pytest.mark.parametrize("text", ["plain text", "a << b", "<<CG:a>>", "cg: ⟪ ⟫"])
def test_a_text_without_placeholders_is_left_as_it_is(text: str) -> None:
    assert marker.defang(text) == text
    assert not marker.carries_placeholder(text)


@pytest.mark.parametrize("text", [f"a <<cg:{ID}>> b", "[removed] ⟪cg⟫"])
def test_a_marker_or_the_sentinel_is_a_placeholder(text: str) -> None:
    assert marker.carries_placeholder(text)


@pytest.mark.parametrize(
    ("marker_id", "minted"),
    [
        (ID, True),
        (ID + "f7a1bd02", True),
        (ID[:-1], False),
        (ID + "f7", False),
        (ID.upper(), False),
        (ID + "\n", False),
        ("../../etc", False),
        ("XYZ", False),
        ("", False),
    ],
)
def test_only_16_or_24_lower_hex_digits_were_ever_minted(marker_id: str, minted: bool) -> None:  # noqa: FBT001
    assert marker.is_minted_shape(marker_id) is minted
