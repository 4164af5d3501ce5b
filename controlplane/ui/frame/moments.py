"""Moments of the telemetry, which counts milliseconds, as pages print them."""

from __future__ import annotations

from datetime import UTC, datetime


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
