"""Tool calls of streamed chat completions: which call each piece belongs to.

The protocol gives every piece the index of its call, and the first one an id and a name. Compatible
providers leave one or the other out, or give several calls the same index.
Source: 03-proxy-and-recovery.md 4.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from dataplane.core.tools.tool import is_injected


class _Function(msgspec.Struct):
    name: str | None = None


class Piece(msgspec.Struct):
    """A part of a call, as far as it tells which call it is of."""

    index: int | None = None
    id: str | None = None
    function: _Function | None = None

    @property
    def name(self) -> str:
        return (self.function.name if self.function else "") or ""


_pieces = msgspec.json.Decoder(list[Piece] | None)
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


def pieces_of(written: Raw | bytes) -> list[Piece]:
    """The pieces in a delta's tool_calls; none where they cannot be read."""
    try:
        return _pieces.decode(written) or []
    except _UNREADABLE:
        return []


@dataclass(slots=True)
class _Known:
    id: str
    name: str


class CallPlaces:
    """The calls of one choice in the order in which they began, and the place of each piece."""

    def __init__(self) -> None:
        self._calls: list[_Known] = []
        self._by_index: dict[int, int] = {}

    def place(self, piece: Piece) -> int:
        """The number of the call that a piece belongs to, from 0."""
        known = self._known(piece)
        if known is None or self._begins_another(known, piece):
            known = len(self._calls)
            self._calls.append(_Known("", ""))
        if piece.index is not None:
            self._by_index[piece.index] = known
        call = self._calls[known]
        call.id, call.name = call.id or piece.id or "", call.name or piece.name
        return known

    def _known(self, piece: Piece) -> int | None:
        if piece.index is not None:
            return self._by_index.get(piece.index)
        return len(self._calls) - 1 if self._calls else None

    def _begins_another(self, known: int, piece: Piece) -> bool:
        call = self._calls[known]
        if piece.id and call.id:
            return piece.id != call.id
        return piece.index is None and bool(piece.name and call.name)

    @property
    def ours(self) -> set[int]:
        """The calls of tools that the gateway answers itself."""
        return {n for n, call in enumerate(self._calls) if is_injected(call.name)}

    @property
    def unnamed(self) -> bool:
        """A call has begun whose tool is not known yet."""
        return any(not call.name for call in self._calls)
