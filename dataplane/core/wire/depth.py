"""How deep a body is nested, found without a parser that could be overwhelmed by it.

Source: 03-proxy-and-recovery.md 10.2 (34), 8.3.
"""

from __future__ import annotations

from itertools import accumulate

MAX_DEPTH = 128
_BRACKETS = b"[]{}"
_OTHERS = bytes(set(range(256)) - set(_BRACKETS))
_STEP = [0] * 256
for _bracket in _BRACKETS:
    _STEP[_bracket] = 1 if _bracket in b"[{" else -1


def is_too_deep(body: bytes) -> bool:
    """True when arrays and objects are nested more than MAX_DEPTH levels. body: JSON."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _without_texts(body).translate(None, _OTHERS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MAX_DEPTH


def _without_texts(body: bytes) -> bytes:
    """The body outside its string literals; escapes go first, so that every quote left counts."""
    if b"\\" in body:
        body = body.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(body.split(b'"')[::2])
