"""The data keys of one tenant, wrapped by the operator's key and kept in the tenant's file.

When the operator's key changes a new data key is made, and the older ones are wrapped again so
that they stay readable. Source: 03-proxy-and-recovery.md 5.9.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dataplane.adapters import failpoints
from dataplane.adapters.stores.cipher import NONCE_BYTES, PLAIN, Cipher
from dataplane.encryption import KEY_BYTES, StoreEncryption


class Row(NamedTuple):
    """One data key. made_for: the operator's key of that time; kek: the one that wraps it now."""

    number: int
    made_for: str
    kek: str
    wrapped: bytes


@dataclass(frozen=True, slots=True)
class _Wrapping:
    """The operator's keys for one tenant."""

    tenant: str
    encryption: StoreEncryption

    def wrap(self, number: int, key: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        kek = self.encryption.keks[self.encryption.key_id]
        return nonce + AESGCM(kek).encrypt(nonce, key, self._place(number))

    def unwrap(self, row: Row) -> bytes | None:
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


def unlock(
    connection: sqlite3.Connection, tenant: str, encryption: StoreEncryption | None
) -> Cipher:
    """The cipher of a tenant's file, which gets a data key if it has none made for this key id.

    A file whose data keys do not all open is locked, and nothing in it is changed.
    """
    rows = _rows(connection)
    if encryption is None:
        return Cipher(tenant, {}, is_locked=True) if rows else PLAIN
    wrapping = _Wrapping(tenant, encryption)
    if not _is_current(rows, encryption.key_id):
        connection.execute("BEGIN IMMEDIATE")
        try:
            rows = _rotated(connection, wrapping)
            failpoints.reached("key_rotation")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    return _cipher(wrapping, rows)


def _rows(connection: sqlite3.Connection) -> list[Row]:
    sql = "SELECT id, made_for, kek, wrapped FROM datakey ORDER BY id"
    return [Row(*row) for row in connection.execute(sql)]


def _is_current(rows: list[Row], key_id: str) -> bool:
    return any(row.made_for == key_id for row in rows) and all(row.kek == key_id for row in rows)


def _cipher(wrapping: _Wrapping, rows: list[Row]) -> Cipher:
    opened = {row.number: wrapping.unwrap(row) for row in rows}
    keys = {number: key for number, key in opened.items() if key is not None}
    if len(keys) < len(rows):
        return Cipher(wrapping.tenant, keys, is_locked=True)
    # Not simply the newest: two processes with different key ids must not make keys in turns.
    own = max(row.number for row in rows if row.made_for == wrapping.encryption.key_id)
    return Cipher(wrapping.tenant, keys, newest=own)


def _rotated(connection: sqlite3.Connection, wrapping: _Wrapping) -> list[Row]:
    """Wrap every data key with the present key and make one for it; the rows after that."""
    rows = _rows(connection)  # again: another process may have been first
    opened = [(row, key) for row in rows if (key := wrapping.unwrap(row)) is not None]
    if len(opened) < len(rows):
        return rows
    key_id = wrapping.encryption.key_id
    if not any(row.made_for == key_id for row in rows):
        number = 1 + max((row.number for row in rows), default=0)
        opened.append((Row(number, key_id, key_id, b""), os.urandom(KEY_BYTES)))
    for row, key in opened:
        wrapped = wrapping.wrap(row.number, key)
        fresh = (row.number, row.made_for, key_id, wrapped)
        connection.execute("INSERT OR REPLACE INTO datakey VALUES(?, ?, ?, ?)", fresh)
    return _rows(connection)
