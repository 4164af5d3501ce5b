"""Wake whoever waits for changes in this process; a hint says only: look (03 §9.4)."""

from __future__ import annotations

import threading
from collections.abc import Callable

_lock = threading.Lock()
_waiting: set[Callable[[], None]] = set()


def subscribe(wake: Callable[[], None]) -> None:
    """wake() is called from any thread, after a commit; it must not block."""
    with _lock:
        _waiting.add(wake)


def unsubscribe(wake: Callable[[], None]) -> None:
    with _lock:
        _waiting.discard(wake)


def hint() -> None:
    with _lock:
        waiting = list(_waiting)
    for wake in waiting:
        wake()
