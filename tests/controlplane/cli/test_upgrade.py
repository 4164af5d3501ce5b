"""A deployment of an earlier release, brought up to this one by its own migrations."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from controlplane.telemetry.runs import unpacked
from dataplane.core.uplink import ComponentRow
from tests.controlplane.cli.processes import Deployment
from tests.databases import migrated

BEFORE = (("accounts", "0001"), ("audit", "0002"))
EVENT = (
    "INSERT INTO audit_auditevent (uid, at, organisation_uid, actor_uid, actor_label, action,"
    " object_uid, object_label, before, after) VALUES (?, '2026-11-30 05:11:00.123456', '',"
    " 'usr_1', 'ada@example.com', 'key.issue', 'key_1', 'laptop', NULL, '{\"label\": \"é\"}')"
)
UPSTREAM = (
    "INSERT INTO accounts_upstream (uid, name, dialect, base_url, allow_insecure, created_at)"
    " VALUES (?, ?, 'openai', ?, ?, '2026-11-30 05:11:00')"
)
UPSTREAMS = (
    ("up_1", "local", "http://127.0.0.1:9100", False),
    ("up_2", "public", "https://api.openai.com", False),
    ("up_3", "inside", "http://simulator:9100", True),
    ("up_4", "here", "http://localhost:9100", False),
)


def write_as_before(file: Path) -> None:
    with sqlite3.connect(file) as database:
        database.executemany(EVENT, [("aud_1",), ("aud_2",)])
        database.executemany(UPSTREAM, UPSTREAMS)
    database.close()


RUNS = (
    {"request_id": 1, "position": 0, "component": "mask", "gates": '{"cached_prefix": 2}'},
    {"request_id": 1, "position": 1, "component": "dedup", "acted": 1, "saved_gross": 7},
    {"request_id": 5001, "position": 0, "component": "mask", "duration_ms": 0.5},
)


def write_runs_as_before(file: Path) -> None:
    """Three requests, the second of which no component looked at."""
    with sqlite3.connect(file) as database:
        for number in (1, 2, 5001):
            insert(database, "telemetry_requestrecord", {"id": number, "uid": f"req_{number}"})
        for run in RUNS:
            insert(database, "telemetry_componentrun", {"kind": "offload", **run})
    database.close()


def insert(database: sqlite3.Connection, table: str, row: dict[str, object]) -> None:
    """What is not said is zero or nothing."""
    columns = database.execute(f"PRAGMA table_info({table})").fetchall()
    nothing = {"text": "{}", "varchar": ""}
    full = {
        name: row.get(name, nothing.get(kind.partition("(")[0], 0))
        for _, name, kind, _, _, is_key in columns
        if name in row or not is_key
    }
    marks = ", ".join("?" * len(full))
    database.execute(
        f"INSERT INTO {table} ({', '.join(full)}) VALUES ({marks})",  # noqa: S608  our own names
        tuple(full.values()),
    )


def test_an_upgrade_chains_the_trail_and_keeps_upstreams_of_private_networks(
    tmp_path: Path,
) -> None:
    deployment = Deployment(tmp_path)
    for app, migration in BEFORE:
        assert deployment.run("manage.py", "migrate", app, migration).returncode == 0
    write_as_before(tmp_path / "control.sqlite3")

    done = deployment.run("manage.py", "migrate")

    assert done.returncode == 0, done.stderr
    assert deployment.rows("SELECT name FROM accounts_upstream WHERE allow_private") == [
        ("local",), ("inside",), ("here",),
    ]  # fmt: skip
    assert deployment.rows("SELECT seq, actor_kind FROM audit_auditevent ORDER BY seq") == [
        (1, "user"), (2, "user"),
    ]  # fmt: skip
    verified = deployment.run("-m", "controlplane.cli.main", "audit", "verify")
    assert verified.stdout.startswith("2 events"), verified
    triggers = deployment.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    assert {("audit_auditevent_no_update",), ("audit_auditevent_no_delete",)} <= set(triggers)


def test_an_upgrade_packs_what_components_did_into_the_row_of_their_request(
    tmp_path: Path,
) -> None:
    deployment = Deployment(tmp_path)
    arguments = ("manage.py", "migrate", "--database", "telemetry", "telemetry")
    assert deployment.run(*arguments, "0007").returncode == 0
    write_runs_as_before(tmp_path / "telemetry.sqlite3")

    done = deployment.run(*arguments)

    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "telemetry.sqlite3") as telemetry:
        kept = telemetry.execute("SELECT id, runs FROM telemetry_requestrecord ORDER BY id")
        packed = {number: unpacked(json.loads(runs)) for number, runs in kept}
    telemetry.close()
    assert packed == {
        1: [
            ComponentRow("mask", "offload", gates={"cached_prefix": 2}),
            ComponentRow("dedup", "offload", acted=True, saved=7),
        ],
        2: [],
        5001: [ComponentRow("mask", "offload", duration_ms=0.5)],
    }


def test_a_server_does_not_start_on_secrets_that_it_cannot_open(tmp_path: Path) -> None:
    migrated(tmp_path)
    deployment = Deployment(tmp_path)
    with sqlite3.connect(tmp_path / "control.sqlite3") as database:
        database.execute(
            "INSERT INTO accounts_secret (uid, name, kind, ciphertext, key_id, fingerprint,"
            " version, created_at, updated_at) VALUES ('sec_1', 'anthropic', 'provider_key',"
            " x'00', 'gone', '00000000', 1, '2026-11-30', '2026-11-30')"
        )
    database.close()

    done = deployment.run("manage.py", "serve", HEADRACE_BIND="127.0.0.1:0")

    assert done.returncode == 1
    assert "no key of HEADRACE_SECRET_KEYS opens: anthropic" in done.stderr


@pytest.mark.parametrize(("database", "app"), [("control", "accounts"), ("telemetry", "telemetry")])
def test_a_server_does_not_start_on_a_database_of_a_newer_release(
    tmp_path: Path, database: str, app: str
) -> None:
    migrated(tmp_path)
    deployment = Deployment(tmp_path)
    with sqlite3.connect(tmp_path / f"{database}.sqlite3") as later:
        later.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, '0099_later', ?)",
            (app, "2026-12-01"),
        )
    later.close()

    done = deployment.run("manage.py", "serve", HEADRACE_BIND="127.0.0.1:0")

    assert done.returncode == 1
    assert f"belongs to a newer release, which added {app}.0099_later" in done.stderr
    assert "Traceback" not in done.stderr
