"""Offline token counts over o200k_base (01-components.md section 5, 00 row 15a)."""

from __future__ import annotations

from typing import NamedTuple


class Count(NamedTuple):
    """tokens of a text; estimated when the text was too large to count exactly."""

    tokens: int
    estimated: bool = False


def count(text: str) -> Count:
    raise NotImplementedError
