"""How deep a body is nested, found without a parser that could be overwhelmed by it.

Source: 03-proxy-and-recovery.md 10.2 (34), 8.3.
"""

from __future__ import annotations

from itertools import accumulate

MAX_DEPTH = 128
_BRACKETS = b"[]{}"
_OTHERS = bytes(set(range(256)) - set(_BRACKETS) - {ord('"')})
_STEP = [0] * 256
for _bracket in _BRACKETS:
    _STEP[_bracket] = 1 if _bracket in b"[{" else -1


def is_too_deep(body: bytes) -> bool:
    """True when arrays and objects are nested more than MAX_DEPTH levels. body: JSON."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    return max(accumulate(map(_STEP.__getitem__, _brackets(body))), default=0) > MAX_DEPTH


def _brackets(body: bytes) -> bytes:
    """The brackets outside string literals. Escapes go first, so that every quote left counts;
    then everything else goes before the literals do, which are few and short by then.
    """
    if b"\\" in body:
        body = body.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(body.translate(None, _OTHERS).split(b'"')[::2])
