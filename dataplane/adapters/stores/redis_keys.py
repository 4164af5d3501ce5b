"""Where a tenant lies in Redis, and the data keys that it has there (03 §5.7 and 5.9)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import msgspec

from dataplane.adapters.stores.cipher import PLAIN, Cipher
from dataplane.adapters.stores.datakeys import Row, Wrapping, without_key
from dataplane.adapters.stores.redis_link import Link
from dataplane.adapters.stores.sqlite_file import segment_of
from dataplane.encryption import StoreEncryption

REALM, SHADOW_REALM = "cg", "cg:shadow"
KEYRING_BYTES = 32
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Keyring:
    """token: tells the data keys of one life of a tenant from those after a purge; "" for none."""

    token: str = ""
    cipher: Cipher = PLAIN


def prefix_of(realm: str, tenant: str) -> str:
    """What every key of a tenant begins with: its hash tag keeps them in one slot of a cluster."""
    return f"{realm}:{{{segment_of(tenant)}}}:"


async def unlock(
    link: Link, prefix: str, tenant: str, encryption: StoreEncryption | None
) -> Keyring:
    """The data keys of a tenant, which gets one if it has none made for this key id."""
    key = f"{prefix}datakeys:"
    for _ in range(_TRIES):
        kept = await link.command("GET", key)
        rows = msgspec.msgpack.decode(kept[KEYRING_BYTES:], type=list[Row]) if kept else []
        token = kept[:KEYRING_BYTES].decode() if kept else ""
        if encryption is None:
            return Keyring(token, without_key(tenant, rows))
        wrapping = Wrapping(tenant, encryption)
        rotated = [] if wrapping.is_current(rows) else wrapping.rotated(rows)
        if not rotated:
            return Keyring(token, wrapping.cipher(rows))
        token = token or secrets.token_hex(KEYRING_BYTES // 2)
        value = token.encode() + msgspec.msgpack.encode(rotated)
        if await link.compare_and_set(key, kept, value):
            return Keyring(token, wrapping.cipher(rotated))
    raise OSError("the data keys of the tenant keep changing")
