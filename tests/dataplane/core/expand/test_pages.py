"""Exact pages and excerpts of an original (05-scoped-recovery-and-image-offload.md A6, A7)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.expand.excerpts import excerpt_of
from dataplane.core.expand.pages import PAGE_BYTES, RangeError, page_of
from dataplane.core.expand.units import units_of


@given(text=st.text(st.characters(exclude_categories=["Cs"])), limit=st.integers(4, 40))
def test_the_pages_of_any_text_make_it_up_to_the_byte(text: str, limit: int) -> None:
    original = text.encode()
    read, offset = "", 0
    while offset is not None:
        page = page_of(original, offset=offset, limit=limit)
        assert len(page.text.encode()) <= limit
        assert page.next_offset is None or page.next_offset > offset
        read, offset = read + page.text, page.next_offset  # type: ignore[assignment]

    assert read == text


def test_an_empty_original_is_one_empty_page() -> None:
    assert page_of(b"") == ("", 0, None, True)


@pytest.mark.parametrize(
    ("offset", "limit"), [(0, 3), (0, PAGE_BYTES + 1), (-1, 0), (1, 0), (2, 0), (3, 0)]
)
def test_there_is_no_page_of_another_range(offset: int, limit: int) -> None:
    with pytest.raises(RangeError):
        page_of("é".encode(), offset=offset, limit=limit)


def test_what_is_no_text_has_no_pages() -> None:
    with pytest.raises(UnicodeDecodeError):
        page_of(b"\xff\xfe")


# ---- excerpts -------------------------------------------------------------------------------


def excerpt(text: str, query: str, limit: int = PAGE_BYTES) -> str:
    return excerpt_of(text.encode(), query, limit=limit)


def test_objects_of_an_array_are_shown_as_they_are_written() -> None:
    rows = [f'{{"id": {n},  "name":"item {n}"}}' for n in range(40)]
    rows[7] = '{"id":7, "name" : "needle"}'
    text = '{"count": 40, "rows": [' + ", ".join(rows) + "]}"

    shown = excerpt(text, "needle")

    start = text.index(rows[7])
    end = start + len(rows[7])
    assert shown == (
        f"[omitted bytes 0..{start} of {len(text)}]\n{rows[7]}\n"
        f"[omitted bytes {end}..{len(text)} of {len(text)}]\n"
    )


def test_neighbours_are_one_range_with_what_lies_between() -> None:
    text = "\n\n".join(["filler words here"] * 9 + ["needle one", "needle two"])

    assert excerpt(text, "needle").endswith("]\nneedle one\n\nneedle two")


def test_the_header_of_a_table_is_always_shown() -> None:
    rows = [f'{n},"plain, {n}",x' for n in range(60)]
    rows[40] = '40,"needle\nin two lines",x'
    text = "id,words,x\n" + "\n".join(rows) + "\n"

    shown = excerpt(text, "needle")

    assert shown.startswith("id,words,x\n[omitted bytes 10..")
    assert rows[40] in shown
    assert "plain" not in shown


def test_the_best_twenty_are_shown_in_their_order() -> None:
    text = "\n".join(f"needle {'hay ' * (n % 50)}{n}" for n in range(100))

    lines = [line for line in excerpt(text, "needle").splitlines() if line.startswith("needle")]

    assert len(lines) == 20
    assert [text.index(line) for line in lines] == sorted(text.index(line) for line in lines)
    assert lines[0] == "needle 0"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        pytest.param("some words\nmore words\n" * 9, "absent", id="nothing-found"),
        pytest.param("some words\nmore words\n" * 9, "the of   ", id="stop-words"),
        pytest.param("some words\n", "   ", id="blank"),
        pytest.param("needle", "needle", id="no-shorter"),
        pytest.param('{"a": [1, 2, 3], "needle": 4}', "needle", id="json-without-objects"),
        pytest.param("", "needle", id="empty"),
    ],
)
def test_where_nothing_can_be_left_out_the_whole_is_shown(text: str, query: str) -> None:
    assert excerpt(text, query) == text


def test_an_excerpt_is_cut_between_characters() -> None:
    assert excerpt("ééé", "absent", limit=5) == "éé"


@given(
    text=st.text(st.sampled_from('ab,\t"\n\r {}[]é✓'), max_size=200),
    query=st.text(st.sampled_from("ab é"), min_size=1),
    limit=st.integers(4, 300),
)
def test_no_text_makes_an_excerpt_fail_or_grow(text: str, query: str, limit: int) -> None:
    shown = excerpt(text, query, limit)

    assert len(shown.encode()) <= min(limit, len(text.encode()))
    assert shown == excerpt(text, query, limit)


@given(
    value=st.recursive(
        st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=12,
    )
)
def test_units_of_json_are_objects_that_parse(value: object) -> None:
    original = json.dumps(value).encode()

    if original[:1] in b"[{":
        for unit in units_of(original):
            assert isinstance(json.loads(original[unit.start : unit.end]), dict)
