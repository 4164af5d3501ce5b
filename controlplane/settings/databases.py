"""The two databases as Django is told of them: files of their own, or a PostgreSQL server's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from controlplane.data_dir import CONTROL_FILE
from controlplane.settings.environment import Environment
from dataplane.files import private_database
from dataplane.settings import SettingsError

SCHEMES = ("postgresql", "postgres")


def both(environment: Environment) -> dict[str, dict[str, Any]]:
    """The control database and that of telemetry; SettingsError names a setting that is wrong."""
    urls = (environment.database_url, environment.telemetry_database_url)
    if any(urls) and (not all(urls) or urls[0] == urls[1]):
        raise SettingsError(
            "HEADRACE_DATABASE_URL and HEADRACE_TELEMETRY_DATABASE_URL are set together, each to "
            "a database of its own; both may be on one server."
        )
    if all(urls):
        return {
            "default": postgres("HEADRACE_DATABASE_URL", urls[0]),
            "telemetry": postgres("HEADRACE_TELEMETRY_DATABASE_URL", urls[1]),
        }
    return {
        "default": sqlite(environment.data_dir / CONTROL_FILE, synchronous="FULL"),
        # Much is written here and little would be missed: a power cut may take the last batches.
        # The indexes change with every batch, so they are copied to the file less often than usual.
        "telemetry": sqlite(
            environment.data_dir / "telemetry.sqlite3",
            synchronous="NORMAL",
            checkpoint_pages=4000,
        ),
    }


def postgres(name: str, url: str) -> dict[str, Any]:
    """A database of a server; what follows "?" are connection options of libpq, a socket's `host`
    among them. name: of the setting, for the error, which never repeats a password.

    No connection outlives its request: each request has a thread of its own, and a connection
    kept in one that has ended would only be closed when it is collected.
    """
    form = f"{name} is not of the form postgresql://user:password@host:port/database."
    try:
        parts = urlsplit(url)
        port = parts.port or ""
    except ValueError:
        raise SettingsError(form) from None
    options = dict(parse_qsl(parts.query))
    database = unquote(parts.path.lstrip("/"))
    if parts.scheme not in SCHEMES or not database:
        raise SettingsError(form)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(port),
        "OPTIONS": options,
    }


def sqlite(file: Path, *, synchronous: str, checkpoint_pages: int = 1000) -> dict[str, Any]:
    """A database in the data directory. checkpoint_pages: how long its log of changes grows.

    IMMEDIATE takes the write lock at BEGIN, where waiting is possible; a deferred transaction
    that wants to write later fails at once instead.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": private_database(file),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 10,
            "init_command": (
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; "
                f"PRAGMA wal_autocheckpoint={checkpoint_pages}; "
                "PRAGMA foreign_keys=ON;"
            ),
        },
        # A file, so that several threads see it; one per process, so that test runs never meet.
        "TEST": {"NAME": str(file.with_name(f"test-{file.stem}-{os.getpid()}.sqlite3"))},
    }
