"""Ids of requests: they sort by time, and nobody can guess the next one."""

from __future__ import annotations

import os
import time

from dataplane.core.ulid import RANDOM_BYTES, ulid


def new_request_id() -> str:
    """The same in the header of the answer, in the log, in records and on pages."""
    found = ulid(at_ms=time.time_ns() // 1_000_000, randomness=os.urandom(RANDOM_BYTES))
    return f"req_{found.lower()}"
