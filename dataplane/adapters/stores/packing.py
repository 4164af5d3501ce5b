"""How an original is kept: compressed when it is long, then sealed (03 §5.6, 5.9)."""

from __future__ import annotations

import hashlib
import threading
from typing import NamedTuple

import zstandard

from dataplane.adapters.stores.answers import Lookup
from dataplane.adapters.stores.cipher import Cipher, SealedError, UnknownKeyError
from dataplane.core.effects import Found

COMPRESS_ABOVE_BYTES = 2048
COMPRESSION_LEVEL = 3
PAYLOAD = "p"
_zstd = threading.local()  # compressor objects must not be shared between threads


class Kept(NamedTuple):
    """An original as the store has it. packed: 1 for compressed bytes, plus twice the data key
    that seals them. stored: None when its bytes are gone.
    """

    marker_id: str
    sha: bytes
    packed: int
    stored: bytes | None


def digest(original: bytes) -> bytes:
    return hashlib.sha256(original).digest()


def pack(cipher: Cipher, marker_id: str, original: bytes) -> tuple[int, bytes]:
    """How it is kept, as Kept.packed says it, and the bytes to keep."""
    is_compressed = len(original) > COMPRESS_ABOVE_BYTES
    if is_compressed:
        if not hasattr(_zstd, "compressor"):
            _zstd.compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
        original = _zstd.compressor.compress(original)
    return cipher.newest << 1 | is_compressed, cipher.seal(PAYLOAD, marker_id, original)


def unpack(kept: Kept, cipher: Cipher) -> bytes | None:
    """The original, or None when the value is gone, damaged or not what was stashed.

    Raises SealedError when it does not open.
    """
    stored = kept.stored
    if stored is None:
        return None
    if kept.packed >> 1:
        stored = cipher.open(PAYLOAD, kept.marker_id, stored)
    try:
        original = zstandard.ZstdDecompressor().decompress(stored) if kept.packed & 1 else stored
    except zstandard.ZstdError:
        return None
    return original if digest(original) == kept.sha else None


def looked_up(kept: Kept, cipher: Cipher, *, due: bool) -> Lookup:
    """What a recall finds. Raises UnknownKeyError when the cipher is older than the value."""
    try:
        original = unpack(kept, cipher)
    except UnknownKeyError:
        raise
    except SealedError:
        return Lookup(Found.DECRYPT_ERROR)
    return Lookup(Found.LOST) if original is None else Lookup(Found.RESOLVED, original, due)
