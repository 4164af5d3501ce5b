"""Wake whoever waits for new telemetry in this process; a wake-up says only: look."""

from __future__ import annotations

import threading
from collections.abc import Callable

_lock = threading.Lock()
_waiting: set[Callable[[], None]] = set()


def subscribe(wake: Callable[[], None]) -> None:
    """wake() is called from the writer's thread, after a commit; it must not block."""
    with _lock:
        _waiting.add(wake)


def unsubscribe(wake: Callable[[], None]) -> None:
    with _lock:
        _waiting.discard(wake)


def written() -> None:
    with _lock:
        waiting = list(_waiting)
    for wake in waiting:
        wake()
