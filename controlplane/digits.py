"""Whole numbers as addresses and forms bring them."""

from __future__ import annotations

import re
from typing import TypeVar

Otherwise = TypeVar("Otherwise")
# What the widest column holds; Python refuses to read some thousands of digits, with an error.
WHOLE = re.compile(r"[0-9]{1,18}")


def whole(text: str, otherwise: Otherwise) -> int | Otherwise:
    """The number, or the other value for whatever is none."""
    return int(text) if WHOLE.fullmatch(text) else otherwise
