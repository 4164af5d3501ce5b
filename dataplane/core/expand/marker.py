"""The marker: how it is written, found and made harmless (03-proxy-and-recovery.md 3)."""

from __future__ import annotations

import re

MARKER = re.compile(r"<<cg:([A-Za-z0-9_-]{1,64})>>")
HINT = " [full output: call context_guru_expand]"
SENTINEL = "⟪cg⟫"  # stands for what no marker can give back

_MINTED = re.compile(r"[0-9a-f]{16}(?:[0-9a-f]{8})?")
_IN_JSON = re.compile(
    rb"(?:<|\\u003[cC]){2}cg:([A-Za-z0-9_-]{1,64})(?:>|\\u003[eE]){2}"
)  # many encoders escape < and >
_OPENING = re.compile(r"(?i:<|\\u003c|&lt;){2}(?=cg:)")


def token(marker_id: str) -> str:
    """The marker that stands for the original with this id."""
    return f"<<cg:{marker_id}>>"


def is_minted_shape(marker_id: str) -> bool:
    """True for 16 or 24 lower-case hex digits: no other id was ever written by a gateway."""
    return _MINTED.fullmatch(marker_id) is not None


def find(text: str) -> list[str]:
    """The ids of the markers in a decoded text, in their order."""
    return MARKER.findall(text) if "<<cg:" in text else []


def carries_placeholder(text: str) -> bool:
    """True when a marker or the sentinel already stands for a part of the text."""
    return SENTINEL in text or bool(find(text))


def find_in_json(raw: bytes) -> list[str]:
    """The ids of the markers in raw JSON bytes, `<` and `>` escaped or not, in their order.

    Only for what the model reads, messages and system: the description of the expand tool quotes
    the syntax, so a whole body would always match.
    """
    return [found.decode() for found in _IN_JSON.findall(raw)] if b"cg:" in raw else []


def defang(text: str) -> str:
    """A text that holds no marker and no sentinel, for use inside one of our replacements.

    Removing a sentinel may join the halves of another; that one is broken up instead, so the work
    stays linear however they are nested.
    """
    bare = text.replace(SENTINEL, "").replace(SENTINEL, "⟪ cg⟫")
    return _OPENING.sub(r"\g<0> ", bare)
