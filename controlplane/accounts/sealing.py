"""Values that we must be able to read again, sealed with AES-256-GCM (04 §8.5)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
FINGERPRINT_CHARACTERS = 8


class SealError(ValueError):
    """None of our keys opens the value for this place."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """ciphertext: a fresh nonce and what AES-GCM made of the value."""

    key_id: str
    ciphertext: bytes


class Keyring:
    """Keys by their id: the first one seals, all of them open."""

    def __init__(self, keys: Sequence[tuple[str, bytes]]) -> None:
        """keys: (id, 32 bytes), at least one."""
        self._first = keys[0][0]
        self._keys = dict(keys)

    @property
    def newest(self) -> str:
        return self._first

    def seal(self, value: str, *, place: str) -> Sealed:
        """place: where the value belongs; moved to another row it does not open."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = AESGCM(self._keys[self._first]).encrypt(nonce, value.encode(), place.encode())
        return Sealed(self._first, nonce + sealed)

    def open(self, sealed: Sealed, *, place: str) -> str:
        """SealError when the key is missing, or the value or its place is another."""
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise SealError(f"no key {sealed.key_id!r}")
        nonce, text = sealed.ciphertext[:NONCE_BYTES], sealed.ciphertext[NONCE_BYTES:]
        try:
            return AESGCM(key).decrypt(nonce, text, place.encode()).decode()
        except (InvalidTag, ValueError) as problem:  # a text too short to be one is no tag at all
            raise SealError(f"key {sealed.key_id!r} does not open it") from problem

    def fingerprint(self, value: str) -> str:
        """8 hex characters that tell two values apart and nothing else about them."""
        key = hmac.digest(self._keys[self._first], b"fingerprint", hashlib.sha256)
        found = hmac.new(key, value.encode(), hashlib.sha256).hexdigest()
        return found[:FINGERPRINT_CHARACTERS]
