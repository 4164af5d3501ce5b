"""What is known of the provider's prompt cache: lifetime, boundary, warm or certainly expired.

Over-estimating a lifetime is the safe direction: a wrong cold reading writes the whole suffix
again, a missed one only forgoes a saving.
Source: 03-proxy-and-recovery.md 2.5, 01-components.md 1.8.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from dataplane.core.effects import PastTurn

CacheMode = Literal["auto", "on", "off"]

COLD_MARGIN_S = 60  # a cache is called cold only this long after its lifetime ran out
PRE_EXPIRY_S = 60
ANTHROPIC_TTL_S = 300
ANTHROPIC_LONG_TTL_S = 3600
OPENAI_MINIMUM_TTL_S = 1800

_LONG_TTL = "1h"
_GPT = re.compile(r"(?:^|/)gpt-(\d)(?:\.(\d+))?(?![\d.a-z])", re.IGNORECASE)
_FIRST_GPT_WITH_MINIMUM = (5, 6)


class Lifetime(NamedTuple):
    """Seconds that the provider keeps a prompt after its last use; 0 when unknown.

    is_minimum: the provider may keep it longer, so it can prove warm but never cold.
    """

    ttl_s: int = 0
    is_minimum: bool = False

    def widened(self, asked_for_s: int) -> Lifetime:
        """Never shorter than the longest lifetime (s) the thread or its alias ever asked for.

        An unknown lifetime stays unknown: the earlier one was another provider's promise.
        """
        return self._replace(ttl_s=asked_for_s) if 0 < self.ttl_s < asked_for_s else self


UNKNOWN_LIFETIME = Lifetime()


class Phase(enum.Enum):
    """State of the provider's copy of the prefix."""

    WARM = "warm"
    PRE_EXPIRY = "pre_expiry"
    COLD = "cold"
    UNKNOWN = "unknown"


def is_cache_aware(mode: CacheMode, dialect: str, *, has_breakpoints: bool, reported: bool) -> bool:
    """Whether decisions must respect the cached prefix (cache.mode of the document).

    has_breakpoints: the body carries a structural cache_control or cachePoint. reported: an answer
    of the thread said that something is cached. Where neither is so a provider that caches only
    what it is asked to holds nothing, and everything is open to decisions.
    """
    if mode == "auto":
        return dialect == "openai" or has_breakpoints or reported
    return mode == "on"


def was_reported(previous: PastTurn | None, lifetime: Lifetime, now: float) -> bool:
    """Whether an answer of the thread reported cache tokens that may still be held. now: seconds.

    Certainty is asked for, as in is_cold: what a crash or another node kept from being written
    down is less old than the margin.
    """
    if previous is None or previous.cached_at <= 0:
        return False
    return not is_cold(lifetime, now - previous.cached_at)


def lifetime_of(dialect: str, model: str, breakpoint_ttls: Collection[str | None]) -> Lifetime:
    """The lifetime that this request's body and model promise.

    breakpoint_ttls: the ttl of every structural breakpoint of the body, None where it states none.
    """
    if dialect == "anthropic":
        long = _LONG_TTL in breakpoint_ttls
        return Lifetime(ANTHROPIC_LONG_TTL_S if long else ANTHROPIC_TTL_S)
    if dialect == "openai" and _gpt_version(model) >= _FIRST_GPT_WITH_MINIMUM:
        return Lifetime(OPENAI_MINIMUM_TTL_S, is_minimum=True)
    return UNKNOWN_LIFETIME


def _gpt_version(model: str) -> tuple[int, int]:
    found = _GPT.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def cached_through(previous: PastTurn | None, messages: int) -> int:
    """Highest message index already in the provider's prefix, -1 for none."""
    if previous is None or was_compacted(previous, messages):
        return -1
    return previous.messages - 1


def was_compacted(previous: PastTurn | None, messages: int) -> bool:
    """True when the agent shortened its own transcript: fewer messages than the turn before."""
    return previous is not None and messages < previous.messages


def idle_s(previous: PastTurn | None, now: float) -> float | None:
    """Seconds since the previous upstream request started, None when that is not known."""
    if previous is None or previous.at <= 0 or now < previous.at:
        return None
    return now - previous.at


def is_cold(lifetime: Lifetime, idle: float | None) -> bool:
    """True only when the provider's copy has certainly expired. idle: seconds."""
    if idle is None or not lifetime.ttl_s or lifetime.is_minimum:
        return False
    return idle >= lifetime.ttl_s + COLD_MARGIN_S


def phase(lifetime: Lifetime, idle: float | None, *, pre_expiry_s: int = PRE_EXPIRY_S) -> Phase:
    """The state of the prefix after idle seconds.

    COLD begins at the end of the lifetime; is_cold, which unlocks rewriting, waits a margin more.
    """
    if idle is None or not lifetime.ttl_s:
        return Phase.UNKNOWN
    remaining = lifetime.ttl_s - idle
    if lifetime.is_minimum:
        return Phase.WARM if remaining > 0 else Phase.UNKNOWN
    if remaining <= 0:
        return Phase.COLD
    return Phase.PRE_EXPIRY if remaining <= pre_expiry_s else Phase.WARM
