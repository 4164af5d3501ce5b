"""What a ping costs, what a rescue is worth, and how often one must follow the other.

A ping reads the cached prefix; a rescue is a request that finds the prefix alive although its
lifetime had run out without pings, and so reads what it would have had to write. Everything is
exact. Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

from fractions import Fraction

from dataplane.core.prices.money import Rates
from dataplane.core.wire.usage import Usage


def projected_usd(usage: Usage, rates: Rates) -> Fraction:
    """What a ping after a request with this usage will cost.

    It reads the prefix, sends what stands behind the last breakpoint anew, and is answered by one
    token. A prefix may be short of its tail, so the tail is no small print.
    """
    read, fresh = prefix_of(usage) * rates.cache_read, usage.fresh_input * rates.fresh_input
    return read + fresh + rates.output


def prefix_of(usage: Usage) -> int:
    """The tokens that the provider holds after a request."""
    return usage.cache_read + usage.cache_write


def rescue_usd(prefix: int, rates: Rates) -> Fraction:
    """What a request saves that reads so many tokens and does not have to write them."""
    return prefix * (rates.cache_write - rates.cache_read)


def break_even(usage: Usage, rates: Rates) -> Fraction | None:
    """The share of pings that must end in a rescue to pay for all of them.

    None where a rescue saves nothing.
    """
    worth = rescue_usd(prefix_of(usage), rates)
    return projected_usd(usage, rates) / worth if worth > 0 else None
