"""An original as a page shows it: a part at a time, nothing hidden (04 §5.7, 8.2)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from controlplane.digits import whole
from controlplane.figures.numerals import Figure, count

PAGE_BYTES = 16_384
# Controls but tab and line feed, and what reorders text: shown, so that nothing looks like less.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


@dataclass(frozen=True, slots=True)
class TextPage:
    """text: what stands between two byte offsets. later, earlier: where other parts begin."""

    text: str
    size: Figure
    sha256: str
    start: int
    end: int
    is_utf8: bool
    later: int | None
    earlier: int | None


def pages_of(original: bytes, wanted: str) -> TextPage:
    """The part that begins at or before the wanted offset; whole code points, never half of one."""
    asked = whole(wanted, 0)
    start = _boundary(original, min(asked, max(0, len(original) - 1)))
    end = len(original)
    if start + PAGE_BYTES < end:
        end = _boundary(original, start + PAGE_BYTES)
    part, is_utf8 = _decoded(original[start:end])
    return TextPage(
        text=visible(part),
        size=count(len(original)),
        sha256=hashlib.sha256(original).hexdigest(),
        start=start,
        end=end,
        is_utf8=is_utf8,
        later=end if end < len(original) else None,
        earlier=_boundary(original, max(0, start - PAGE_BYTES)) if start else None,
    )


def visible(text: str) -> str:
    """Every character that would not be seen is written as its code, ⟨U+202E⟩."""
    return HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _boundary(data: bytes, offset: int) -> int:
    """The start of the code point that the offset lies in."""
    while 0 < offset < len(data) and data[offset] & 0xC0 == 0x80:  # noqa: PLR2004  a continuation
        offset -= 1
    return offset


def _decoded(part: bytes) -> tuple[str, bool]:
    try:
        return part.decode(), True
    except UnicodeDecodeError:
        return part.decode("utf-8", "replace"), False
