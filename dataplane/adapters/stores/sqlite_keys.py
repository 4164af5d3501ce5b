"""The data keys of a tenant in its file (03-proxy-and-recovery.md 5.9)."""

from __future__ import annotations

import sqlite3

from dataplane.adapters import failpoints
from dataplane.adapters.stores.cipher import Cipher
from dataplane.adapters.stores.datakeys import Row, Wrapping, without_key
from dataplane.encryption import StoreEncryption


def unlock(
    connection: sqlite3.Connection, tenant: str, encryption: StoreEncryption | None
) -> Cipher:
    """The cipher of a tenant's file, which gets a data key if it has none made for this key id.

    A file whose data keys do not all open is locked, and nothing in it is changed.
    """
    rows = _rows(connection)
    if encryption is None:
        return without_key(tenant, rows)
    wrapping = Wrapping(tenant, encryption)
    if not wrapping.is_current(rows):
        connection.execute("BEGIN IMMEDIATE")
        try:
            rows = _rotated(connection, wrapping)
            failpoints.reached("key_rotation")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    return wrapping.cipher(rows)


def _rows(connection: sqlite3.Connection) -> list[Row]:
    sql = "SELECT id, made_for, kek, wrapped FROM datakey ORDER BY id"
    return [Row(*row) for row in connection.execute(sql)]


def _rotated(connection: sqlite3.Connection, wrapping: Wrapping) -> list[Row]:
    rows = _rows(connection)  # again: another process may have been first
    for row in wrapping.rotated(rows):
        connection.execute("INSERT OR REPLACE INTO datakey VALUES(?, ?, ?, ?)", row)
    return _rows(connection)
