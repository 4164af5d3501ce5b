"""Cache breakpoints of a request, found by structure and never by searching for the word.

Source: 03-proxy-and-recovery.md 2.5.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dataplane.core.wire.spans import Member, Span

NAMES = ("cache_control", "cachePoint")  # of the members that are breakpoints
# One search for both of them, which a literal beginning makes a fast one.
_HINT = re.compile(rb'"cache(?:_control|Point)')
_LISTS = ("system", "tools")


def breakpoints(body: bytes, members: dict[str, Member], elements: list[Span]) -> tuple[int, bool]:
    """How many breakpoints the body carries, and whether one asks for a lifetime of an hour."""
    if _HINT.search(body) is None:
        return 0, False
    found = [own for own in (_mark_in(body, members, name) for name in NAMES) if own is not None]
    for name in _LISTS:
        if name in members:
            found += _marks_under(body, members[name].value)
    for element in elements:
        found += _marks_under(body, element)
    return len(found), any(mark.get("ttl") == "1h" for mark in found)


def _mark_in(body: bytes, members: dict[str, Member], name: str) -> dict[str, Any] | None:
    member = members.get(name)
    if member is None:
        return None
    value = _decoded(body, member.value)
    return value if isinstance(value, dict) else None


def _marks_under(body: bytes, span: Span) -> list[dict[str, Any]]:
    if _HINT.search(body, span.start, span.end) is None:
        return []
    value = _decoded(body, span)
    found: list[dict[str, Any]] = []
    for block in value if isinstance(value, list) else [value]:
        _collect(block, found)
    return found


def _collect(block: Any, found: list[dict[str, Any]]) -> None:
    """Marks of a block and of the blocks in its content, at any depth of content."""
    if not isinstance(block, dict):
        return
    found += [block[name] for name in NAMES if isinstance(block.get(name), dict)]
    content = block.get("content")
    if isinstance(content, list):
        for inner in content:
            _collect(inner, found)


def _decoded(body: bytes, span: Span) -> Any:
    try:
        return msgspec.json.decode(memoryview(body)[span.start : span.end])
    except (msgspec.DecodeError, RecursionError):
        return None
