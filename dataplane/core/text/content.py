"""One text and what is derived from it: its identity, marker id, content key and token count.

What a text *is* is its exact bytes: `digest`. The content key, which is blind to white space, only
recognises a text that was asked back; no bytes are ever chosen by it.
The derived facts are remembered by digest, because an agent sends the same outputs every turn.
Source: 01-components.md 1.6 and 5; 03-proxy-and-recovery.md 3.1; 00-start-here.md 2 (row 23).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from dataplane.core.text import marker, tokens

MARKER_ID_LENGTH = 16
CONTENT_KEY_LENGTH = 24
_MEMO_ENTRIES = 200_000
_PIECE_BYTES = 1 << 18


def content_key(text: str) -> str:
    """What a text says, up to markers and white space: 24 hex characters."""
    digest = hashlib.sha256()
    for part in _folded(marker.without(text).encode("utf-8", "replace")):
        digest.update(part)
    return digest.hexdigest()[:CONTENT_KEY_LENGTH]


def _folded(utf8: bytes) -> Iterator[bytes]:
    """The text with one space for each stretch of ASCII white space, and none at either end.

    In pieces, because one call over all of a long text holds the interpreter for long.
    """
    has_begun = is_apart = False
    for start in range(0, len(utf8), _PIECE_BYTES):
        piece = utf8[start : start + _PIECE_BYTES]
        words = piece.split()
        if words:
            if has_begun and (is_apart or piece[:1].isspace()):
                yield b" "
            yield b" ".join(words)
            has_begun, is_apart = True, False
        is_apart = is_apart or piece[-1:].isspace()


class _Derived:
    """The remembered facts of one digest; None until first asked for."""

    __slots__ = ("content_key", "tokens")

    def __init__(self) -> None:
        self.content_key: str | None = None
        self.tokens: int | None = None


_memo: dict[bytes, _Derived] = {}


def _derived(digest: bytes) -> _Derived:
    found = _memo.get(digest)
    if found is None:
        if len(_memo) >= _MEMO_ENTRIES:
            for stale in list(_memo)[: _MEMO_ENTRIES // 10]:
                _memo.pop(stale, None)
        found = _memo[digest] = _Derived()
    return found


class Content:
    """One text with its derived facts, each computed at most once per process."""

    __slots__ = ("_derived", "_digest", "_utf8", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._utf8: bytes | None = None
        self._digest: bytes | None = None
        self._derived: _Derived | None = None

    @property
    def utf8(self) -> bytes:
        """The text as it is stashed; a lone surrogate, which cannot be, raises UnicodeError."""
        if self._utf8 is None:
            self._utf8 = self.text.encode()
        return self._utf8

    @property
    def digest(self) -> bytes:
        """SHA-256 of the UTF-8 text, 32 bytes."""
        if self._digest is None:
            self._digest = hashlib.sha256(self.utf8).digest()
        return self._digest

    @property
    def sha256(self) -> str:
        """The identity of the text: `digest` in hex, 64 characters."""
        return self.digest.hex()

    @property
    def marker_id(self) -> str:
        """The id of the marker that stands for this text: 16 hex of its SHA-256."""
        return self.sha256[:MARKER_ID_LENGTH]

    @property
    def content_key(self) -> str:
        facts = self._facts()
        if facts.content_key is None:
            facts.content_key = content_key(self.text)
        return facts.content_key

    @property
    def tokens(self) -> int:
        """Tokens of the text as dataplane.core.text.tokens counts them."""
        facts = self._facts()
        if facts.tokens is None:
            facts.tokens = tokens.count(self.text).tokens
        return facts.tokens

    def _facts(self) -> _Derived:
        if self._derived is None:
            self._derived = _derived(self.digest)
        return self._derived
