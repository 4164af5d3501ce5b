"""Byte-exact edits: everything outside an edited span is copied as it is.

The string encoder is part of the wire format for ever: its bytes lie inside prefixes that
providers have cached. Source: 03-proxy-and-recovery.md 2.7 (5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from dataplane.core.wire.message import Conversation
from dataplane.core.wire.spans import Span


class Edit(NamedTuple):
    """Replace the bytes of `span`; an empty span inserts."""

    span: Span
    replacement: bytes


_EMPTY_ARRAY = re.compile(rb"\[[ \t\n\r]*\]")
_encoder = msgspec.json.Encoder()


def string_literal(text: str) -> bytes:
    """The JSON string literal of a text: raw UTF-8, only `"`, `\\` and U+0000 to U+001F escaped.

    Raises UnicodeEncodeError for a lone surrogate.
    """
    return _encoder.encode(text)


def splice(body: bytes, edits: Iterable[Edit]) -> bytes:
    """The body with every edit applied. Edits must not overlap; raises ValueError if they do."""
    pieces: list[bytes] = []
    position = 0
    for span, replacement in sorted(edits):
        if span.start < position:
            raise ValueError("overlapping edits")
        pieces.append(body[position : span.start])
        pieces.append(replacement)
        position = span.end
    pieces.append(body[position:])
    return b"".join(pieces)


def append_to_array(body: bytes, array: Span, items: Iterable[bytes]) -> Edit:
    """The edit that adds raw JSON items at the end of an array of the body."""
    inside = b",".join(items)
    at = array.end - 1
    is_empty = _EMPTY_ARRAY.fullmatch(body, array.start, array.end)
    return Edit(Span(at, at), inside if is_empty else b"," + inside)


def add_member(conversation: Conversation, name: str, value: bytes) -> Edit:
    """The edit that adds a member at the end of the top-level object, which is not empty."""
    end = max(member.value.end for member in conversation.members.values())
    return Edit(Span(end, end), b"," + string_literal(name) + b":" + value)
