"""manage.py bootstrap as scripts call it (00 section 3): a process, a data directory, JSON."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
UPSTREAM = "http://127.0.0.1:9100"
ORCHID = ("--tenant", "orchid", "--upstream", f"anthropic={UPSTREAM}")


class Deployment:
    """A data directory and the commands that are run on it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        inherited = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}  # noqa: TID251
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**inherited, "HEADRACE_DATA_DIR": str(self.data_dir), **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def bootstrap(self, *arguments: str, **env: str) -> dict[str, Any]:
        done = self.run("manage.py", "bootstrap", *arguments, "--json", **env)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def rows(self, sql: str) -> list[Any]:
        database = sqlite3.connect(self.data_dir / "control.sqlite3")
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path / "data")


def test_the_first_run_prints_every_secret_and_the_second_none(deployment: Deployment) -> None:
    first = deployment.bootstrap(*ORCHID)
    second = deployment.bootstrap(*ORCHID)

    assert first["data_plane_key"].startswith("cg_live_")
    assert first["api_token"].startswith("cg_api_")
    assert first["admin"]["password"]
    assert second == {
        "admin": {"email": first["admin"]["email"], "password": None},
        "organisation": first["organisation"],
        "tenant": "orchid",
        "data_plane_key": None,
        "api_token": None,
        "base_url": "http://127.0.0.1:8000",
    }


def test_running_it_again_changes_nothing_that_nodes_see(deployment: Deployment) -> None:
    deployment.bootstrap(*ORCHID)
    before = deployment.rows("SELECT type, name, version FROM fleet_publishedresource")
    deployment.bootstrap(*ORCHID)

    assert deployment.rows("SELECT type, name, version FROM fleet_publishedresource") == before


def test_rotating_replaces_every_secret_and_keeps_the_principal(deployment: Deployment) -> None:
    first = deployment.bootstrap(*ORCHID)
    rotated = deployment.bootstrap(*ORCHID, "--rotate")

    for field in ("data_plane_key", "api_token"):
        assert rotated[field] not in (None, first[field])
    assert rotated["admin"]["password"] not in (None, first["admin"]["password"])
    keys = deployment.rows("SELECT principal, revoked_at IS NULL FROM accounts_dataplanekey")
    assert len({principal for principal, _ in keys}) == 1
    assert sorted(is_live for _, is_live in keys) == [0, 1]


def test_a_second_tenant_gets_its_own_key_and_does_not_move_the_first_ones_upstream(
    deployment: Deployment,
) -> None:
    deployment.bootstrap(*ORCHID)
    maple = deployment.bootstrap(
        "--tenant", "maple", "--upstream", "anthropic=http://127.0.0.1:9200"
    )

    assert maple["data_plane_key"]
    assert maple["api_token"] is None
    chosen = deployment.rows(
        "SELECT t.slug, u.base_url FROM accounts_tenantupstream c"
        " JOIN accounts_tenant t ON t.id = c.tenant_id"
        " JOIN accounts_upstream u ON u.id = c.upstream_id ORDER BY t.slug"
    )
    assert chosen == [("maple", "http://127.0.0.1:9200"), ("orchid", UPSTREAM)]


def test_the_sign_in_can_be_preset(deployment: Deployment) -> None:
    found = deployment.bootstrap(
        *ORCHID,
        HEADRACE_ADMIN_EMAIL="Ada@example.com",
        HEADRACE_ADMIN_PASSWORD="a long enough one",
    )

    assert found["admin"] == {"email": "ada@example.com", "password": "a long enough one"}


def test_an_existing_manager_stays_whatever_is_preset_later(deployment: Deployment) -> None:
    first = deployment.bootstrap(*ORCHID)
    second = deployment.bootstrap(*ORCHID, HEADRACE_ADMIN_EMAIL="late@example.com")

    assert second["admin"]["email"] == first["admin"]["email"]
    assert deployment.rows("SELECT count(*) FROM accounts_user") == [(1,)]


def test_a_document_becomes_the_tenants_own(deployment: Deployment, tmp_path: Path) -> None:
    document = tmp_path / "orchid.yaml"
    document.write_text("# mine\npipeline: [format]\n")
    deployment.bootstrap(*ORCHID, "--document", str(document))

    ((source,),) = deployment.rows(
        "SELECT v.source FROM configs_configversion v JOIN configs_configdocument d"
        " ON d.head_id = v.id WHERE d.kind = 'tenant'"
    )
    assert source == document.read_text()


def test_a_document_that_does_not_validate_ends_with_3_its_problems_and_nothing_saved(
    deployment: Deployment, tmp_path: Path
) -> None:
    deployment.bootstrap(*ORCHID)
    document = tmp_path / "wrong.yaml"
    document.write_text("pipeline: [format]\nmod: sync\n")
    done = deployment.run("manage.py", "bootstrap", *ORCHID, "--json", "--document", str(document))

    assert done.returncode == 3
    assert f"{document}:2:1: error[config.unknown_key]:" in done.stderr
    assert [one["code"] for one in json.loads(done.stdout)["errors"]] == ["config.unknown_key"]
    assert deployment.rows("SELECT count(*) FROM configs_configversion") == [(1,)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--upstream", "anthropic"),
        ("--upstream", "anthropic=http://example.com"),
        ("--upstream", "other=https://example.com"),
        ("--document", "no-such-file"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_left_half_done(
    deployment: Deployment, arguments: tuple[str, ...]
) -> None:
    done = deployment.run("manage.py", "bootstrap", "--tenant", "orchid", *arguments)

    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: ")
    if (deployment.data_dir / "control.sqlite3").stat().st_size:
        assert deployment.rows("SELECT count(*) FROM accounts_user") == [(0,)]


def test_two_that_start_at_once_agree(deployment: Deployment) -> None:
    command = [sys.executable, "manage.py", "bootstrap", *ORCHID, "--json"]
    env = {**os.environ, "HEADRACE_DATA_DIR": str(deployment.data_dir)}  # noqa: TID251
    both = [
        subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    keys = [json.loads(one.communicate()[0])["data_plane_key"] for one in both]

    assert [one.returncode for one in both] == [0, 0]
    assert len([key for key in keys if key]) == 1


def test_people_are_told_where_to_sign_in_and_what_to_paste(deployment: Deployment) -> None:
    done = deployment.run("manage.py", "bootstrap", *ORCHID)

    assert "Sign in as   admin@localhost" in done.stdout
    assert "curl http://127.0.0.1:8000/v1/messages" in done.stdout
    assert '"x-api-key: ${ANTHROPIC_API_KEY:-simulated}"' in done.stdout
    pasted = done.stdout[done.stdout.index("curl") :].strip().splitlines()
    assert len(pasted) == 3


def test_files_are_for_their_owner_alone(deployment: Deployment) -> None:
    deployment.bootstrap(*ORCHID)

    for path in deployment.data_dir.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_snapshot_holds_one_tenant_and_nothing_of_another(
    deployment: Deployment, tmp_path: Path
) -> None:
    deployment.bootstrap(*ORCHID)
    deployment.bootstrap("--tenant", "maple", "--upstream", "openai=http://127.0.0.1:9200")
    output = tmp_path / "orchid.json"
    done = deployment.run(
        "-m", "controlplane.cli.main", "snapshot", "--tenant", "orchid", "-o", str(output)
    )

    assert done.returncode == 0, done.stderr
    text = output.read_text()
    assert "orchid" in text
    assert "maple" not in text
    assert "9200" not in text
    assert stat.S_IMODE(output.stat().st_mode) == 0o600


def test_a_snapshot_of_an_unknown_tenant_is_refused(deployment: Deployment, tmp_path: Path) -> None:
    deployment.bootstrap(*ORCHID)
    output = tmp_path / "x.json"
    done = deployment.run(
        "-m", "controlplane.cli.main", "snapshot", "--tenant", "elm", "-o", str(output)
    )

    assert done.returncode == 1
    assert "no tenant 'elm'" in done.stderr
    assert not output.exists()
