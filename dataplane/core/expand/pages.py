"""One original in pages that a reader can put together again to the byte.

A page ends between two characters, never inside one; an offset is taken as it is, never rounded.
Source: 05-scoped-recovery-and-image-offload.md A6.
"""

from __future__ import annotations

from typing import NamedTuple

PAGE_BYTES = 262_144
SMALLEST_BYTES = 4  # of a character: every page makes progress
_LEAD_MASK, _CONTINUATION = 0xC0, 0x80


class RangeError(ValueError):
    """There is no such page."""


class Page(NamedTuple):
    """complete: the page is the whole original. next_offset: where to read on, None at the end."""

    text: str
    offset: int
    next_offset: int | None
    complete: bool


def page_of(original: bytes, *, offset: int = 0, limit: int = 0) -> Page:
    """The page at `offset`, of at most `limit` bytes (0: PAGE_BYTES).

    original: UTF-8; UnicodeDecodeError for a page of anything else. Raises RangeError.
    """
    limit = limit or PAGE_BYTES
    size = len(original)
    if not SMALLEST_BYTES <= limit <= PAGE_BYTES or not 0 <= offset <= size:
        raise RangeError("limit or offset out of range")
    if offset == size and size:
        raise RangeError("behind the last byte")
    if offset < size and not _leads(original[offset]):
        raise RangeError("inside a character")
    end = cut(original, offset + limit)
    return Page(
        original[offset:end].decode(),
        offset,
        end if end < size else None,
        complete=offset == 0 and end == size,
    )


def cut(text: bytes, end: int) -> int:
    """The last place at or before `end` where a character ends."""
    end = min(len(text), end)
    while 0 < end < len(text) and not _leads(text[end]):
        end -= 1
    return end


def _leads(byte: int) -> bool:
    return byte & _LEAD_MASK != _CONTINUATION
