"""Identifiers that sort by time: 26 characters of Crockford base 32, lower case."""

from __future__ import annotations

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
RANDOM_BYTES = 10
_LENGTH = 26


def ulid(*, at_ms: int, randomness: bytes) -> str:
    """The id of a moment (milliseconds since the epoch) and ten random bytes."""
    number = (at_ms << 8 * RANDOM_BYTES) | int.from_bytes(randomness[:RANDOM_BYTES])
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
