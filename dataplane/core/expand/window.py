"""The two ends of a body that nobody holds whole: enough to find its usage.

Source: 03-proxy-and-recovery.md 2.9.
"""

from __future__ import annotations

from dataplane.core.expand.facts import WINDOW_BYTES, Facts


class Window:
    """The first and the last WINDOW_BYTES; a body that fits into both is held whole."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = b""
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        room = WINDOW_BYTES - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail = (self._tail + chunk[-WINDOW_BYTES:])[-WINDOW_BYTES:]

    @property
    def head(self) -> bytes:
        return bytes(self._head)

    def read_into(self, facts: Facts) -> None:
        """Give the facts what the window holds; nothing for an empty body."""
        if len(self._head) + len(self._tail) < self._size:
            facts.read_window(self.head, self._tail)
        elif self._size:
            facts.read_body(self.head + self._tail)
