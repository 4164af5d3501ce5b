"""A stretch of time, and from which buckets it can be read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import Q

from controlplane.telemetry.resolutions import DAY_S, HOUR_S, KEPT_S, RESOLUTIONS, bucket_of

POINTS_MAX = 720
_STEPS = (10, 30, 60, 300, 900, HOUR_S, 6 * HOUR_S, DAY_S)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """since inclusive, until exclusive; now: the moment both were resolved at. All in ms."""

    since: int
    until: int
    now: int

    @classmethod
    def last(cls, seconds: int, now: int | None = None) -> Window:
        """The last seconds, the running moment included."""
        now = now_ms() if now is None else now
        return cls(now - seconds * 1000, now + 1, now)

    @property
    def finest_s(self) -> int:
        """The finest resolution that is kept since the window began."""
        age_s = (self.now - self.since) / 1000
        return next((each for each in RESOLUTIONS if age_s <= KEPT_S[each]), RESOLUTIONS[-1])

    @property
    def step_s(self) -> int:
        """Seconds per point of a series, so that there are about POINTS_MAX of them at most."""
        span_s = (self.until - self.since) / 1000
        fitting = (s for s in _STEPS if s >= self.finest_s and span_s < s * (POINTS_MAX + 1))
        return next(fitting, _STEPS[-1])

    @property
    def resolution_s(self) -> int:
        """The coarsest resolution that whole steps are made of."""
        return max(each for each in RESOLUTIONS if self.step_s % each == 0)

    @property
    def step_rows(self) -> Q:
        """The buckets of a series."""
        return _between(self.resolution_s, bucket_of(self.since, self.step_s), self.until)

    @property
    def steps(self) -> range:
        """Where each step of a series begins, ms."""
        return range(bucket_of(self.since, self.step_s), self.until, self.step_s * 1000)

    @property
    def rows(self) -> Q:
        """The fewest buckets that make up the window, each moment once."""
        found = Q(pk__in=[])
        for resolution_s, since, until in self._pieces():
            found |= _between(resolution_s, since, until)
        return found

    def _pieces(self) -> Iterator[tuple[int, int, int]]:
        """Fine buckets at both ends, coarse ones between them."""
        at = bucket_of(self.since, self.finest_s)
        kept = [each for each in RESOLUTIONS if each >= self.finest_s]
        for finer, coarser in pairwise(kept):
            ahead = -(-at // (coarser * 1000)) * coarser * 1000
            if ahead > self.until:
                break
            if at < ahead:
                yield finer, at, ahead
            at = ahead
        for resolution_s in reversed(kept):
            end = bucket_of(self.until, resolution_s)
            if resolution_s == self.finest_s:
                end = self.until
            if at < end:
                yield resolution_s, at, end
                at = end


def _between(resolution_s: int, since: int, until: int) -> Q:
    return Q(resolution_s=resolution_s, bucket_at__gte=since, bucket_at__lt=until)
