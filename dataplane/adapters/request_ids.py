"""Ids of requests: they sort by time, and nobody can guess the next one."""

from __future__ import annotations

import os
import time

from dataplane.core.ulid import RANDOM_BYTES, ulid

_AT_ONCE = 256  # ids that one call of the system has enough bytes for


class _Random:
    """Bytes of the system's, many at a time: each call of it gives the interpreter away."""

    def __init__(self) -> None:
        self._bytes, self._at = b"", 0
        os.register_at_fork(after_in_child=self._forget)  # or both would give the same ids

    def take(self) -> bytes:
        self._at -= RANDOM_BYTES
        if self._at < 0:
            self._bytes, self._at = (
                os.urandom(_AT_ONCE * RANDOM_BYTES),
                (_AT_ONCE - 1) * RANDOM_BYTES,
            )
        return self._bytes[self._at : self._at + RANDOM_BYTES]

    def _forget(self) -> None:
        self._bytes, self._at = b"", 0


_random = _Random()


def new_request_id() -> str:
    """The same in the header of the answer, in the log, in records and on pages. On one thread."""
    return f"req_{ulid(at_ms=time.time_ns() // 1_000_000, randomness=_random.take())}"
