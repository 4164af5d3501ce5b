"""The statistics of a node, or of several: the JSON object of 03 §6.1, read by key.

A key that is absent was not observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

Stats = Mapping[str, object]


def whole(stats: Stats, key: str) -> int | None:
    """The counter `key`, or None where the node does not report it."""
    value = stats.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def real(stats: Stats, key: str) -> float | None:
    """The measurement `key`, or None where the node does not report it."""
    value = stats.get(key)
    return float(value) if isinstance(value, int | float) else None


def amount(stats: Stats, key: str) -> Decimal | None:
    """The decimal text `key` as an exact amount, or None where it could not be priced."""
    value = stats.get(key)
    return Decimal(value) if isinstance(value, str) else None


def part(stats: Stats, key: str) -> Stats:
    """The object under `key`; empty where there is none."""
    value = stats.get(key)
    return value if isinstance(value, Mapping) else {}


def all_requests(stats: Stats) -> int | None:
    """Requests that were answered, those that skipped the pipeline included."""
    every = whole(stats, "all_requests")
    return whole(stats, "requests") if every is None else every
