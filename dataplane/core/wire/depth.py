"""How deep a body is nested, found without a parser that could be overwhelmed by it.

Source: 03-proxy-and-recovery.md 10.2 (34), 8.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

MAX_DEPTH = 128
PIECE_BYTES = 1 << 18  # even, see _pieces
_BRACKETS = b"[]{}"
_OTHERS = bytes(set(range(256)) - set(_BRACKETS) - {ord('"')})
_STEP = [0] * 256
for _bracket in _BRACKETS:
    _STEP[_bracket] = 1 if _bracket in b"[{" else -1


def is_too_deep(body: bytes) -> bool:
    """True when arrays and objects are nested more than MAX_DEPTH levels. body: JSON."""
    if not _opens_often(body):
        return False
    return max(accumulate(map(_STEP.__getitem__, _brackets(body))), default=0) > MAX_DEPTH


def _opens_often(body: bytes) -> bool:
    """Whether there are more than MAX_DEPTH opening brackets, those in strings included.

    Found one by one: most of a body is text, which a search leaps over and a count does not.
    """
    left = MAX_DEPTH
    for bracket in (b"[", b"{"):
        at = body.find(bracket)
        while at >= 0:
            left -= 1
            if left < 0:
                return True
            at = body.find(bracket, at + 1)
    return False


def _brackets(body: bytes) -> bytes:
    """The brackets outside string literals: quotes are left to tell which are inside."""
    marks = b"".join(map(_marks, _pieces(body)))
    return b"".join(marks.split(b'"')[::2])


def _pieces(body: bytes) -> Iterator[bytes]:
    """The body in pieces that keep its escapes whole. Other threads get their turn in between."""
    start = 0
    while start < len(body):
        piece = body[start : start + PIECE_BYTES]
        piece = piece.rstrip(b"\\") or piece  # backslashes alone are an even number: whole escapes
        yield piece
        start += len(piece)


def _marks(piece: bytes) -> bytes:
    """Brackets and quotes. Escapes go first, so that every quote left counts."""
    if b"\\" in piece:
        piece = piece.replace(rb"\\", b"").replace(rb"\"", b"")
    return piece.translate(None, _OTHERS)
