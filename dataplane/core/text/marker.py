"""The marker: how it is written, found and made harmless (03-proxy-and-recovery.md 3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

MARKER = re.compile(r"<<cg:([A-Za-z0-9_-]{1,64})>>")
HINT = " [full output: call context_guru_expand]"
SENTINEL = "⟪cg⟫"  # stands for what no marker can give back

_MINTED = re.compile(r"[0-9a-f]{16}(?:[0-9a-f]{8})?")
# What stands around a place that `find` or `replace` have found: trying a pattern everywhere in a
# long text would hold the interpreter for long. Many encoders escape < and >.
_OPENED_IN_JSON = re.compile(rb"(?:<|\\u003[cC]){2}\Z")
_CLOSED_IN_JSON = re.compile(rb"cg:([A-Za-z0-9_-]{1,64})(?:>|\\u003[eE]){2}")
_OPENED = re.compile(r"(?i:<|\\u003c|&lt;){2}\Z")
_OPENING_MAX = 12


def token(marker_id: str) -> str:
    """The marker that stands for the original with this id."""
    return f"<<cg:{marker_id}>>"


def is_minted_shape(marker_id: str) -> bool:
    """True for 16 or 24 lower-case hex digits: no other id was ever written by a gateway."""
    return _MINTED.fullmatch(marker_id) is not None


def find(text: str) -> list[str]:
    """The ids of the markers in a decoded text, in their order."""
    return [found[1] for found in _markers(text)]


def without(text: str) -> str:
    """A text without its markers."""
    parts, at = [], 0
    for found in _markers(text):
        parts.append(text[at : found.start()])
        at = found.end()
    return "".join((*parts, text[at:])) if parts else text


def _markers(text: str) -> Iterator[re.Match[str]]:
    at = text.find("<<cg:")
    while at >= 0:
        found = MARKER.match(text, at)
        if found is not None:
            yield found
        at = text.find("<<cg:", found.end() if found else at + 1)


def carries_placeholder(text: str) -> bool:
    """True when a marker or the sentinel already stands for a part of the text."""
    return SENTINEL in text or bool(find(text))


def find_in_json(raw: bytes) -> list[str]:
    """The ids of the markers in raw JSON bytes, `<` and `>` escaped or not, in their order.

    Only for what the model reads, messages and system: the description of the expand tool quotes
    the syntax, so a whole body would always match.
    """
    ids = []
    at = raw.find(b"cg:")
    while at >= 0:
        found = _CLOSED_IN_JSON.match(raw, at)
        if found and _OPENED_IN_JSON.search(raw[max(0, at - _OPENING_MAX) : at]):
            ids.append(found[1].decode())
        at = raw.find(b"cg:", at + 1)
    return ids


def defang(text: str) -> str:
    """A text that holds no marker and no sentinel, for use inside one of our replacements.

    Removing a sentinel may join the halves of another; that one is broken up instead, so the work
    stays linear however they are nested.
    """
    bare = text.replace(SENTINEL, "").replace(SENTINEL, "⟪ cg⟫")
    head, *rest = bare.split("cg:")
    parts = [head]
    for before, part in pairwise((head, *rest)):
        opened = _OPENED.search(before[-_OPENING_MAX:])
        parts.append(" cg:" if opened else "cg:")
        parts.append(part)
    return "".join(parts)
