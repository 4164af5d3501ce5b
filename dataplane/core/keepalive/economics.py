"""What a ping costs, what a rescue is worth, and how often one must follow the other.

A ping reads the cached prefix; a rescue is a request that finds the prefix alive although its
lifetime had run out without pings, and so reads what it would have had to write. Everything is
exact. Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

from fractions import Fraction

from dataplane.core.money import Rates


def projected_usd(prefix: int, rates: Rates) -> Fraction:
    """What a ping over so many cached tokens will cost: the read, and one token of answer."""
    return prefix * rates.cache_read + rates.output


def rescue_usd(prefix: int, rates: Rates) -> Fraction:
    """What a request saves that reads so many tokens and does not have to write them."""
    return prefix * (rates.cache_write - rates.cache_read)


def break_even(prefix: int, rates: Rates) -> Fraction | None:
    """The share of pings that must end in a rescue to pay for all of them.

    None where a rescue saves nothing. One token of the body is never cached and comes on top.
    """
    worth = rescue_usd(prefix, rates)
    if worth <= 0:
        return None
    return (projected_usd(prefix, rates) + rates.fresh_input) / worth
