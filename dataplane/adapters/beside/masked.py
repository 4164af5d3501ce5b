"""Bytes that outlive their request: never in the clear in memory, and overwritten when they go.

The mask is this process's own and keeps a caller's credential out of a core dump or a swapped
page that is searched for it; it is no encryption. Python cannot overwrite `bytes`, so what is kept
and what is revealed are bytearrays. Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

import os

_PIECE = 1 << 16
_MASK = os.urandom(_PIECE)


class Masked:
    """One value. wipe ends it: afterwards it reveals nothing but zeros."""

    __slots__ = ("_buffer", "_is_wiped")

    def __init__(self, value: bytes | bytearray) -> None:
        self._buffer = bytearray(value)
        _toggle(self._buffer)
        self._is_wiped = False

    def __len__(self) -> int:
        return len(self._buffer)

    def reveal(self) -> bytearray:
        """The value; whoever asks for it overwrites it."""
        revealed = bytearray(self._buffer)
        if not self._is_wiped:
            _toggle(revealed)
        return revealed

    def wipe(self) -> None:
        self._is_wiped = True
        overwrite(self._buffer)


def overwrite(buffer: bytearray) -> None:
    """Zero in place; the length stays."""
    memoryview(buffer)[:] = bytes(len(buffer))


def _toggle(buffer: bytearray) -> None:
    view = memoryview(buffer)
    for start in range(0, len(buffer), _PIECE):
        piece = view[start : start + _PIECE]
        size = len(piece)
        masked = int.from_bytes(piece, "little") ^ int.from_bytes(_MASK[:size], "little")
        piece[:] = masked.to_bytes(size, "little")
