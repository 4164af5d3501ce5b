"""At which resolutions counters are kept, and for how long (04 §1.7)."""

from __future__ import annotations

HOUR_S = 3600
DAY_S = 86_400

# Seconds of a bucket, to how many seconds such buckets are kept.
KEPT_S = {10: 2 * HOUR_S, 60: 48 * HOUR_S, HOUR_S: 90 * DAY_S, DAY_S: 400 * DAY_S}
RESOLUTIONS = tuple(KEPT_S)


def bucket_of(at_ms: int, resolution_s: int) -> int:
    """Where the bucket begins that this moment lies in, ms."""
    return at_ms - at_ms % (resolution_s * 1000)
