"""Which of the two databases a table lives in, and who writes when (04 §0.5 and 1.8)."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from django.core.management import call_command
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model

TELEMETRY = "telemetry"
DEFAULT = "default"


class ByAppLabel:
    """The telemetry app has a database of its own; everything else is in the control database."""

    def db_for_read(self, model: type[Model], **_hints: Any) -> str:
        return _alias(model._meta.app_label)

    db_for_write = db_for_read

    def allow_relation(self, one: Model, other: Model, **_hints: Any) -> bool:
        """Rows of one database never point into the other: it stores uids."""
        return _alias(one._meta.app_label) == _alias(other._meta.app_label)

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool:
        return db == _alias(app_label)


def _alias(app_label: str) -> str:
    return TELEMETRY if app_label == TELEMETRY else DEFAULT


def migrate(alias: str) -> None:
    """Bring this database up to this release. The migrations of other apps make no table in the
    telemetry one, and take as long there as in their own.
    """
    only = [TELEMETRY] if alias == TELEMETRY else []
    call_command("migrate", *only, database=alias, verbosity=0, interactive=False)


def waiting_migrations(alias: str) -> int:
    """How many `migrate` would apply now."""
    executor = MigrationExecutor(connections[alias])
    leaves = executor.loader.graph.leaf_nodes(TELEMETRY if alias == TELEMETRY else None)
    return len(executor.migration_plan(leaves))


class Turn(IntEnum):
    """What several processes do one after the other where a server's database serves them all."""

    REPORTS = 0x68720001
    SET_UP = 0x68720002
    ATTEMPTS = 0x68720003
    SIMULATED = 0x68720004


def take_turn(turn: Turn, alias: str) -> None:
    """Within a transaction: wait for those that began before, and let the others wait until its
    end. A file lets only one begin to write anyway.
    """
    connection = connections[alias]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [turn.value])


def hold(row: Model, *fields: str) -> None:
    """Within a transaction: read these fields of the row anew, and let nobody else change it until
    its end. Whoever loaded it may have waited for somebody who did.
    """
    row.refresh_from_db(
        fields=fields, from_queryset=type(row)._base_manager.select_for_update(of=("self",))
    )


@contextmanager
def in_turn(turn: Turn, alias: str) -> Iterator[None]:
    """The same around several transactions."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [turn.value])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [turn.value])


class HeldByHost:
    """A turn that one process of each host takes on a server's database, for as long as it lives:
    the connection of its own ends with it.
    """

    def __init__(self, turn: Turn, alias: str) -> None:
        self._key = [turn.value, zlib.crc32(socket.gethostname().encode()) - (1 << 31)]
        self._connection = connections[alias].copy()
        self._connection.inc_thread_sharing()  # taken on one thread, waited for on another

    def take(self) -> bool:
        """False while another process of this host has it, or the database is away."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", self._key)
                (is_taken,) = cursor.fetchone()
        except DatabaseError:
            self._connection.close()
            return False
        return bool(is_taken)
