"""Long JSON text in pieces that can be read one by one: no call holds the interpreter for long.

A piece ends between characters, and never inside an escape or between the halves of a surrogate
pair, so that what is read of the pieces, joined, is what is read of the whole.
Source: 03-proxy-and-recovery.md 2.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

PIECE_BYTES = 1 << 18
_LOOK_BACK = 4096
# So many bytes without a backslash are longer than a pair of escapes, less a character's tail.
_PLAIN = re.compile(rb"[^\\]{16}", re.DOTALL)
# Whole characters and escapes: the first half of a pair counts once its second is in sight, or
# what stands in the second's place.
_WHOLE = re.compile(
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89abAB]).{4}"
    rb"|\\u[dD][89abAB].{2}"
    rb"(?:\\u[dD][c-fC-F].{2}|(?=[^\\]|\\[^u]|\\u(?![dD][c-fC-F]).{4})))*+",
    re.DOTALL,
)
_string = msgspec.json.Decoder(str)
Buffer = bytes | memoryview
_TAIL_BITS, _TAIL = 0xC0, 0x80  # of a character's second byte and the later ones
_QUOTE, _NULL = b'"n'
NOTHING = msgspec.Raw(b"null")


def text_of(literal: msgspec.Raw | bytes) -> str:
    """The text of a JSON string literal. Raises msgspec.DecodeError, also for another value."""
    if memoryview(literal).nbytes <= PIECE_BYTES:
        return _string.decode(literal)
    written = memoryview(literal)
    if written[0] != _QUOTE or written[-1] != _QUOTE:
        return _string.decode(written)
    inside = pieces(written, 1, len(written) - 1)
    return "".join(_string.decode(b'"%b"' % bytes(piece)) for piece in inside)


def text_or_none(literal: msgspec.Raw) -> str:
    """The same of a member that may be null, which is no text."""
    return "" if memoryview(literal)[0] == _NULL else text_of(literal)


def pieces(text: Buffer, start: int, end: int) -> Iterator[Buffer]:
    """The JSON text from start to end in pieces of about PIECE_BYTES."""
    while end - start > PIECE_BYTES:
        cut = _cut(text, start)
        yield text[start:cut]
        start = cut
    yield text[start:end]


def _cut(text: Buffer, start: int) -> int:
    """Where the piece that begins at start ends."""
    latest = start + PIECE_BYTES
    plain = _PLAIN.search(text, latest - _LOOK_BACK, latest)
    whole = plain or _WHOLE.match(text, start, latest)
    cut = whole.end() if whole is not None else start
    while cut > start and text[cut] & _TAIL_BITS == _TAIL:
        cut -= 1
    # Only what is no JSON text has nothing whole in so many bytes.
    return cut if cut > start else latest
