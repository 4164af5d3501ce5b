"""Identifiers that sort by time: 26 characters of Crockford base 32, lower case."""

from __future__ import annotations

from base64 import b32encode

RANDOM_BYTES = 10
_BYTES = 17  # 26 digits of 5 bits, and 6 bits more
_SPARE_BITS = 6
_LENGTH = 26
_CROCKFORD = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789abcdefghjkmnpqrstvwxyz"
)


def ulid(*, at_ms: int, randomness: bytes) -> str:
    """The id of a moment (milliseconds since the epoch) and ten random bytes."""
    number = (at_ms << 8 * RANDOM_BYTES) | int.from_bytes(randomness[:RANDOM_BYTES])
    written = b32encode((number << _SPARE_BITS).to_bytes(_BYTES))
    return written.translate(_CROCKFORD)[:_LENGTH].decode()
