"""The values of one tenant, sealed with AES-256-GCM or kept as they are.

A sealed value is fmt(1) key_id(4) nonce(12) ciphertext tag(16) and opens only in its place.
Ids, digests and sizes stay in the clear: a digest confirms a guessed text to whoever has the
file. Source: 03-proxy-and-recovery.md 5.9.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = 1
NONCE_BYTES = 12
IN_THE_CLEAR = 0
_HEAD = struct.Struct(">BI")


class SealedError(ValueError):
    """The value does not open: its key is not here, or it is not what was sealed."""


class UnknownKeyError(SealedError):
    """Sealed with a data key that was made after this cipher was."""


class Cipher:
    """Seals with the newest data key and opens with all of them.

    newest: its id, IN_THE_CLEAR for a store without encryption. is_locked: the file has data
    keys that the configured key does not open, so that nothing may be written.
    """

    def __init__(
        self,
        tenant: str,
        keys: Mapping[int, bytes],
        *,
        newest: int = IN_THE_CLEAR,
        is_locked: bool = False,
    ) -> None:
        self.newest, self.is_locked = newest, is_locked
        self._tenant = tenant
        self._keys = {key_id: AESGCM(key) for key_id, key in keys.items()}

    def seal(self, namespace: str, k: str, value: bytes) -> bytes:
        """What to keep for the value of `k`."""
        if not self.newest:
            return value
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._keys[self.newest].encrypt(nonce, value, self._place(namespace, k))
        return _HEAD.pack(FORMAT, self.newest) + nonce + sealed

    def open(self, namespace: str, k: str, kept: bytes) -> bytes:
        """The value that was sealed for this place. Raises SealedError."""
        if len(kept) < _HEAD.size + NONCE_BYTES:
            raise SealedError("too short")
        format_, key_id = _HEAD.unpack_from(kept)
        key = self._keys.get(key_id)
        if key is None:
            raise SealedError("locked") if self.is_locked else UnknownKeyError(f"key {key_id}")
        if format_ != FORMAT:
            raise SealedError(f"format {format_}")
        nonce, sealed = kept[_HEAD.size :][:NONCE_BYTES], kept[_HEAD.size + NONCE_BYTES :]
        try:
            return key.decrypt(nonce, sealed, self._place(namespace, k))
        except InvalidTag as error:
            raise SealedError("not what was sealed here") from error

    def seal_text(self, namespace: str, k: str, text: str) -> str | bytes:
        return self.seal(namespace, k, text.encode()) if self.newest else text

    def open_text(self, namespace: str, k: str, kept: str | bytes) -> str:
        """A text, whether it was sealed or kept in the clear. Raises SealedError."""
        return kept if isinstance(kept, str) else self.open(namespace, k, kept).decode()

    def _place(self, namespace: str, k: str) -> bytes:
        return f"{self._tenant}|{namespace}|{k}|{FORMAT}".encode()


def key_id_of(kept: str | bytes) -> int:
    """The data key that a kept text was sealed with, IN_THE_CLEAR for none."""
    return IN_THE_CLEAR if isinstance(kept, str) else int(_HEAD.unpack_from(kept)[1])


PLAIN = Cipher("", {})
