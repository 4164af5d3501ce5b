"""cachesplit: where a system text may be split (01 §2.18, vector 49)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.components.cachesplit import COMPONENT, SMALLEST_STABLE_BYTES, split_point
from dataplane.core.declaration import Kind

HEADINGS = (
    "\nRecent commits:\n",
    "\nCurrent branch: ",
    "\ngitStatus:",
    "\nHere is a snapshot of the current directory",
)


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
