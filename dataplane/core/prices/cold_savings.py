"""What `cold_cache: true` would have spared a thread, in dollars; exact.

On a turn that finds the prompt cache expired the whole prompt is written again, so removing from it
costs nothing then: those tokens are not written, and on every later turn they are not read. Each is
bounded by what the turn was billed. What the model would have asked back is not known.
Source: 04-controlplane-and-dashboard.md 2.5, 02-sweep-and-ledger.md 8.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dataplane.core.prices.money import Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """One turn of a thread. held: tokens that could have gone on it, 0 on a turn that did not find
    the cache expired. compacted: the agent began anew with fewer messages. rates: None for a turn
    whose price or usage is not known.
    """

    held: int
    fresh: int
    read: int
    written: int
    written_1h: int
    compacted: bool = False
    rates: Rates | None = None


@dataclass(frozen=True, slots=True)
class Spared:
    """usd: exact. rests: turns that found the cache expired with something to remove; tokens: what
    they could have gone without. unpriced: later turns that are left out of usd.
    """

    usd: Fraction = Fraction(0)
    rests: int = 0
    tokens: int = 0
    unpriced: int = 0

    def __add__(self, other: Spared) -> Spared:
        return Spared(
            self.usd + other.usd,
            self.rests + other.rests,
            self.tokens + other.tokens,
            self.unpriced + other.unpriced,
        )


def spared(thread: Iterable[Billed]) -> Spared:
    """What one thread would have been spared, oldest turn first, from its first rest on."""
    gone, total = 0, Spared()
    for turn in thread:
        gone = 0 if turn.compacted else gone
        new = max(0, turn.held - gone)
        gone = max(gone, turn.held)
        if gone:
            total += _turn(turn, gone, new)
    return total


def _turn(turn: Billed, gone: int, new: int) -> Spared:
    """gone: tokens that the prompt would have lacked; new: those of them that go now."""
    rests = int(turn.held > 0)
    if turn.rates is None:
        return Spared(rests=rests, tokens=new, unpriced=1)
    return Spared(_usd(turn, gone, turn.rates), rests, new)


def _usd(turn: Billed, gone: int, rates: Rates) -> Fraction:
    """A rest spares the writing first, a turn on a held cache the reading first."""
    write = rates.cache_write_1h if turn.written_1h else rates.cache_write
    tiers = [(turn.written, write), (turn.fresh, rates.fresh_input), (turn.read, rates.cache_read)]
    if not turn.held:
        tiers = [(turn.read, rates.cache_read)]
    usd = Fraction(0)
    for billed, rate in tiers:
        taken = min(gone, billed)
        usd, gone = usd + taken * rate, gone - taken
    return usd
