"""The data keys of one tenant, wrapped by the operator's key and kept beside what they seal.

When the operator's key changes a new data key is made, and the older ones are wrapped again so
that they stay readable. Source: 03-proxy-and-recovery.md 5.9.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dataplane.adapters.stores.cipher import NONCE_BYTES, PLAIN, Cipher
from dataplane.encryption import KEY_BYTES, StoreEncryption


class Row(NamedTuple):
    """One data key. made_for: the operator's key of that time; kek: the one that wraps it now."""

    number: int
    made_for: str
    kek: str
    wrapped: bytes


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The operator's keys for one tenant."""

    tenant: str
    encryption: StoreEncryption

    def is_current(self, rows: list[Row]) -> bool:
        """One was made for the present key, which wraps them all."""
        key_id = self.encryption.key_id
        return any(row.made_for == key_id for row in rows) and all(r.kek == key_id for r in rows)

    def cipher(self, rows: list[Row]) -> Cipher:
        """Locked when they do not all open."""
        opened = {row.number: self._unwrap(row) for row in rows}
        keys = {number: key for number, key in opened.items() if key is not None}
        if len(keys) < len(rows):
            return Cipher(self.tenant, keys, is_locked=True)
        # Not simply the newest: processes with different key ids must not make keys in turns.
        own = max(row.number for row in rows if row.made_for == self.encryption.key_id)
        return Cipher(self.tenant, keys, newest=own)

    def rotated(self, rows: list[Row]) -> list[Row]:
        """Every data key wrapped by the present key, and one that was made for it.

        Empty when they do not all open: then nothing is to be changed.
        """
        opened = [(row, key) for row in rows if (key := self._unwrap(row)) is not None]
        if len(opened) < len(rows):
            return []
        key_id = self.encryption.key_id
        if not any(row.made_for == key_id for row in rows):
            number = 1 + max((row.number for row in rows), default=0)
            opened.append((Row(number, key_id, key_id, b""), os.urandom(KEY_BYTES)))
        return [
            row._replace(kek=key_id, wrapped=self._wrap(row.number, key)) for row, key in opened
        ]

    def _wrap(self, number: int, key: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        kek = self.encryption.keks[self.encryption.key_id]
        return nonce + AESGCM(kek).encrypt(nonce, key, self._place(number))

    def _unwrap(self, row: Row) -> bytes | None:
        """The data key, None when the operator's key is absent or another one."""
        kek = self.encryption.keks.get(row.kek)
        if kek is None:
            return None
        nonce, sealed = row.wrapped[:NONCE_BYTES], row.wrapped[NONCE_BYTES:]
        try:
            return AESGCM(kek).decrypt(nonce, sealed, self._place(row.number))
        except InvalidTag:
            return None

    def _place(self, number: int) -> bytes:
        return f"{self.tenant}|datakey|{number}|1".encode()


def without_key(tenant: str, rows: list[Row]) -> Cipher:
    """The cipher of a process without encryption: locked where there are data keys."""
    return Cipher(tenant, {}, is_locked=True) if rows else PLAIN
