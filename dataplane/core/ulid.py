"""Identifiers that sort by time: 26 characters of Crockford base 32, lower case."""

from __future__ import annotations

RANDOM_BYTES = 10
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
# Two digits at a time: every request gets an id.
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS = range(120, -1, -10)


def ulid(*, at_ms: int, randomness: bytes) -> str:
    """The id of a moment (milliseconds since the epoch) and ten random bytes."""
    number = (at_ms << 8 * RANDOM_BYTES) | int.from_bytes(randomness[:RANDOM_BYTES])
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])
