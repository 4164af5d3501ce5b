"""Prompt caches as the providers keep them: pure accounting, no clock, no bytes kept.

BreakpointCache answers as Anthropic's does (entries are written where a request marks them),
StepCache as OpenAI's (every prompt is written by itself, in steps of 128 tokens).
Source: 00-start-here.md 3 (simulated provider), 03-proxy-and-recovery.md 2.5 and 2.9.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

FIVE_MINUTES_S = 300
ONE_HOUR_S = 3600
THIRTY_MINUTES_S = 1800
BYTES_PER_TOKEN = 4
DIGEST_BYTES = 16


def tokens_of(size_bytes: int) -> int:
    """The simulated provider's own count: a token for every four bytes begun."""
    return -(-size_bytes // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a rendered prompt. mark_s: lifetime of its cache mark in seconds, 0 for none."""

    digest: bytes
    tokens: int
    mark_s: int = 0


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How one prompt was billed, in tokens; the four parts add up to the prompt."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    fresh: int = 0

    @property
    def written(self) -> int:
        return self.written_5m + self.written_1h

    @property
    def total(self) -> int:
        return self.read + self.written + self.fresh


@dataclass(slots=True)
class _Entry:
    lifetime_s: float
    expires_at: float

    def refresh(self, now: float) -> None:
        self.expires_at = max(self.expires_at, now + self.lifetime_s)


class _Entries:
    """Entries by prefix digest. The oldest tenth goes when the capacity is reached: by age, not
    by expiry, because the clocks of two callers may have nothing to do with each other.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: dict[bytes, _Entry] = {}

    def live(self, prefix: bytes, now: float) -> _Entry | None:
        entry = self._entries.get(prefix)
        return entry if entry is not None and now < entry.expires_at else None

    def write(self, prefix: bytes, lifetime_s: float, now: float) -> None:
        if len(self._entries) >= self._capacity:
            for oldest in list(self._entries)[: max(1, self._capacity // 10)]:
                del self._entries[oldest]
        self._entries[prefix] = _Entry(lifetime_s, now + lifetime_s)

    def clear(self) -> None:
        self._entries.clear()


def _chained(owner: bytes, digests: Iterator[bytes]) -> list[bytes]:
    """The digest of every prefix: each covers the owner and all digests so far."""
    prefix = hashlib.blake2b(owner, digest_size=DIGEST_BYTES).digest()
    prefixes = []
    for digest in digests:
        prefix = hashlib.blake2b(prefix + digest, digest_size=DIGEST_BYTES).digest()
        prefixes.append(prefix)
    return prefixes


class BreakpointCache:
    """Explicit marks: a prompt is written at its marks and found at, or shortly before, them."""

    def __init__(self, *, minimum: int = 1024, lookback: int = 20, capacity: int = 200_000) -> None:
        """minimum: smallest prefix in tokens that is cached. lookback: positions searched per
        mark, the marked block included.
        """
        self._minimum = minimum
        self._lookback = lookback
        self._entries = _Entries(capacity)

    def use(self, owner: bytes, blocks: Sequence[Block], now: float) -> CacheUse:
        """Bill one prompt and remember it. owner: credential and model. now: seconds."""
        prefixes = _chained(owner, (block.digest for block in blocks))
        ends = list(accumulate(block.tokens for block in blocks))
        marks = [i for i, block in enumerate(blocks) if block.mark_s and ends[i] >= self._minimum]
        hit = self._longest_hit(prefixes, marks, now)
        for prefix in prefixes[: hit + 1]:
            if entry := self._entries.live(prefix, now):
                entry.refresh(now)
        for mark in marks:
            if self._entries.live(prefixes[mark], now) is None:
                self._entries.write(prefixes[mark], blocks[mark].mark_s, now)
        return _bill(blocks, ends, marks, hit)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def _longest_hit(self, prefixes: Sequence[bytes], marks: Sequence[int], now: float) -> int:
        """Index of the last block that is read from the cache, -1 for none."""
        for mark in reversed(marks):
            for index in range(mark, max(-1, mark - self._lookback), -1):
                if self._entries.live(prefixes[index], now):
                    return index
        return -1


def _bill(blocks: Sequence[Block], ends: Sequence[int], marks: Sequence[int], hit: int) -> CacheUse:
    """Read up to the hit; written for an hour up to the last 1-hour mark, then for 5 minutes up
    to the last mark; fresh from there.
    """
    total = ends[-1] if ends else 0
    read = ends[hit] if hit >= 0 else 0
    last_hour = max((ends[i] for i in marks if blocks[i].mark_s >= ONE_HOUR_S), default=0)
    hour_end = max(read, last_hour)
    written_end = max(hour_end, ends[marks[-1]] if marks else 0)
    return CacheUse(read, written_end - hour_end, hour_end - read, total - written_end)


class StepCache:
    """No marks: each prompt is remembered in steps; the longest known run of steps is read."""

    def __init__(self, *, minimum: int = 1024, step: int = 128, capacity: int = 1_000_000) -> None:
        """minimum, step: tokens of the smallest cached prefix and of each step."""
        self._first = -(-minimum // step)
        self._step = step
        self._entries = _Entries(capacity)

    def use(
        self, owner: bytes, prompt: bytes, now: float, *, lifetime_s: float = THIRTY_MINUTES_S
    ) -> CacheUse:
        """Bill one prompt and remember it; `written_5m` holds what was written.

        prompt: the rendered prompt. The last token is never read: something must be computed.
        """
        total = tokens_of(len(prompt))
        steps = max(0, total - 1) // self._step
        if steps < self._first:
            return CacheUse(fresh=total)
        prefixes = _chained(owner, self._steps(prompt, steps))[self._first - 1 :]
        known = self._known(prefixes, now)
        for prefix in prefixes[known:]:
            self._entries.write(prefix, lifetime_s, now)
        read = (self._first - 1 + known) * self._step if known else 0
        written = steps * self._step - read
        return CacheUse(read=read, written_5m=written, fresh=total - read - written)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def _steps(self, prompt: bytes, count: int) -> Iterator[bytes]:
        size = self._step * BYTES_PER_TOKEN
        view = memoryview(prompt)
        for index in range(count):
            piece = view[index * size : (index + 1) * size]
            yield hashlib.blake2b(piece, digest_size=DIGEST_BYTES).digest()

    def _known(self, prefixes: Sequence[bytes], now: float) -> int:
        """How many of the prefixes, shortest first, are live; they are refreshed."""
        known = 0
        for prefix in prefixes:
            entry = self._entries.live(prefix, now)
            if entry is None:
                break
            entry.refresh(now)
            known += 1
        return known
