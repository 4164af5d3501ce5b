"""Which keys wrap the data keys of tenants (03-proxy-and-recovery.md 5.9, Appendix A).

HEADRACE_STORE_ENCRYPTION is {"kek_ref": "file:PATH" or "env:NAME", "key_id": "k1"}; what kek_ref
names holds the keys, one "id:base64" a word. A key that was rotated out stays listed until
nothing is wrapped by it any more.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

KEY_BYTES = 32


class EncryptionError(ValueError):
    """The setting, or what it points to, cannot be used; the message names no key."""


@dataclass(frozen=True, slots=True)
class StoreEncryption:
    """keks: key-encryption keys of 32 bytes by id. key_id: the one that new data keys use."""

    key_id: str
    keks: Mapping[str, bytes] = field(repr=False)


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    kek_ref: str
    key_id: str


def encryption_from(
    setting: str, environ: Mapping[str, str], *, state_dir: Path
) -> StoreEncryption | None:
    """The keys that the setting points to; None when it is empty. Raises EncryptionError."""
    if not setting:
        return None
    try:
        written = msgspec.json.decode(setting, type=_Written)
    except msgspec.DecodeError as error:
        raise EncryptionError(f"not {{kek_ref, key_id}}: {error}") from error
    keks = _keys_in(_referenced(written.kek_ref, environ, state_dir))
    if written.key_id not in keks:
        raise EncryptionError(f"{written.kek_ref} has no key {written.key_id!r}")
    return StoreEncryption(written.key_id, keks)


def _referenced(ref: str, environ: Mapping[str, str], state_dir: Path) -> str:
    kind, _, name = ref.partition(":")
    if kind == "env" and name:
        return environ.get(name, "")
    if kind != "file" or not name:
        raise EncryptionError("kek_ref is file:PATH or env:NAME")
    path = Path(name)
    if path.resolve().is_relative_to(state_dir.resolve()):
        raise EncryptionError("the keys must not lie beside what they protect")
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeError) as error:
        raise EncryptionError(f"{ref} cannot be read: {type(error).__name__}") from error


def _keys_in(text: str) -> dict[str, bytes]:
    keks = {}
    for word in text.split():
        key_id, _, encoded = word.partition(":")
        try:
            key = base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise EncryptionError(f"key {key_id!r} is not base64") from error
        if len(key) != KEY_BYTES:
            raise EncryptionError(f"key {key_id!r} has {len(key)} bytes, not {KEY_BYTES}")
        keks[key_id] = key
    return keks
