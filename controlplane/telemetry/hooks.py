"""Wake whoever waits for something new in telemetry in this process; it says only: look."""

from __future__ import annotations

import threading
from collections.abc import Callable

_lock = threading.Lock()
_waiting: set[Callable[[], None]] = set()
_reading: set[Callable[[], None]] = set()


def subscribe(wake: Callable[[], None]) -> None:
    """After every report. wake() is called from the writer's thread, after a commit; it must not
    block.
    """
    with _lock:
        _waiting.add(wake)


def follow(wake: Callable[[], None]) -> None:
    """After every message in the live log, reports or not; from any thread."""
    with _lock:
        _reading.add(wake)


def unsubscribe(wake: Callable[[], None]) -> None:
    with _lock:
        _waiting.discard(wake)
        _reading.discard(wake)


def written() -> None:
    _wake(_waiting | _reading)


def told() -> None:
    _wake(_reading)


def _wake(waiting: set[Callable[[], None]]) -> None:
    with _lock:
        found = list(waiting)
    for wake in found:
        wake()
