"""Positions as the editor in a browser counts them (04 §0.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.ui.configs.offsets import Offsets, utf16


@pytest.mark.parametrize(
    ("line", "column", "offset"),
    [
        pytest.param(1, 1, 0, id="the start"),
        pytest.param(1, 4, 4, id="behind a character of two units"),
        pytest.param(2, 1, 6, id="the second line"),
        pytest.param(9, 1, 6, id="a line that is not there is the last"),
        pytest.param(2, 99, 8, id="a column behind the end is the end"),
    ],
)
def test_a_place_is_counted_in_utf_16_units(line: int, column: int, offset: int) -> None:
    assert Offsets("a😀b:\nxy").at(line, column) == offset


@given(st.text())
def test_a_length_is_the_one_that_a_browser_has(text: str) -> None:
    assert utf16(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2
