"""Places at which a test may let this process die: HEADRACE_FAILPOINT=NAME:PROBABILITY, ….

Source: 03-proxy-and-recovery.md 5.10, K1 to K9. Unarmed, a place costs one comparison.
"""

from __future__ import annotations

import os
import random
import signal

NAMES = {
    "before_commit": "K1",
    "after_commit": "K2",
    "request_write": "K3",
    "response_head": "K4",
    "mid_stream": "K5",
    "checkpoint": "K6",
    "sweep": "K7",
    "snapshot_swap": "K8",
    "key_rotation": "K9",
}
_armed: dict[str, float] | None = None


class FailpointError(ValueError):
    """No such place, or no probability."""


def arm(setting: str) -> None:
    """From now on a named place kills with its probability (0 to 1); "" disarms all of them."""
    global _armed
    _armed = dict(map(_parsed, setting.split(","))) if setting else None


def _parsed(written: str) -> tuple[str, float]:
    name, _, probability = written.strip().partition(":")
    try:
        found = float(probability)
    except ValueError:
        found = -1
    if name not in NAMES or not 0 <= found <= 1:
        raise FailpointError(f"{written!r} is not one of {', '.join(NAMES)} with a probability")
    return name, found


def is_armed(name: str) -> bool:
    return _armed is not None and name in _armed


def reached(name: str) -> None:
    """Die here by SIGKILL, if this place is armed and the dice say so."""
    if _armed is not None and random.random() < _armed.get(name, 0.0):  # noqa: S311
        os.kill(os.getpid(), signal.SIGKILL)
