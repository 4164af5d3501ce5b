"""manage.py bootstrap as scripts call it (00 §3): a process, a data directory, JSON."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from controlplane.accounts.models import User
from tests.controlplane.cli.processes import ROOT, Deployment
from tests.databases import migrated

ORCHID = ("--tenant", "orchid", "--upstream", "anthropic=http://127.0.0.1:9100")


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    migrated(tmp_path / "data")
    return Deployment(tmp_path / "data")


@pytest.fixture
def nothing_yet(tmp_path: Path) -> Deployment:
    """Without a data directory."""
    return Deployment(tmp_path / "data")


def test_the_first_run_prints_every_secret_and_the_second_none_and_changes_nothing(
    nothing_yet: Deployment,
) -> None:
    published = "SELECT type, name, version FROM fleet_publishedresource"
    first = nothing_yet.bootstrap(*ORCHID)
    before = nothing_yet.rows(published)
    second = nothing_yet.bootstrap(*ORCHID)

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
    assert nothing_yet.rows(published) == before


def test_a_document_that_does_not_validate_ends_with_3_its_problems_and_nothing_saved(
    deployment: Deployment, tmp_path: Path
) -> None:
    document = tmp_path / "wrong.yaml"
    document.write_text("pipeline: [format]\nmod: sync\n")
    done = deployment.run("manage.py", "bootstrap", *ORCHID, "--json", "--document", str(document))

    assert done.returncode == 3
    assert f"{document}:2:1: error[config.unknown_key]:" in done.stderr
    assert "    mod: sync\n    ^^^\n" in done.stderr
    assert [one["code"] for one in json.loads(done.stdout)["errors"]] == ["config.unknown_key"]
    assert deployment.rows("SELECT count(*) FROM accounts_user") == [(0,)]


def test_two_that_start_at_once_agree(nothing_yet: Deployment) -> None:
    command = [sys.executable, "manage.py", "bootstrap", *ORCHID, "--json"]
    env = nothing_yet.environment()
    both = [
        subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    keys = [json.loads(one.communicate()[0])["data_plane_key"] for one in both]

    assert [one.returncode for one in both] == [0, 0]
    assert len([key for key in keys if key]) == 1


def test_people_are_told_where_to_sign_in_and_get_three_lines_to_paste(
    deployment: Deployment,
) -> None:
    done = deployment.run(
        "manage.py", "bootstrap", *ORCHID,
        HEADRACE_ADMIN_EMAIL="Ada@example.com", HEADRACE_ADMIN_PASSWORD="a long enough one",
    )  # fmt: skip

    assert "Sign in as   ada@example.com" in done.stdout
    assert "Password     a long enough one" in done.stdout
    pasted = done.stdout[done.stdout.index("curl") :].strip().splitlines()
    assert len(pasted) == 3
    assert "curl http://127.0.0.1:8000/v1/messages" in pasted[0]
    assert '"x-api-key: ${ANTHROPIC_API_KEY:-simulated}"' in pasted[1]


def test_a_snapshot_holds_one_tenant_and_every_file_is_for_its_owner_alone(
    nothing_yet: Deployment,
) -> None:
    nothing_yet.bootstrap(*ORCHID)
    output = nothing_yet.data_dir / "orchid.json"
    command = ("-m", "controlplane.cli.main", "snapshot", "-o", str(output), "--tenant")
    done = nothing_yet.run(*command, "orchid")

    assert done.returncode == 0, done.stderr
    assert "orchid" in output.read_text()
    for path in nothing_yet.data_dir.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path

    output.unlink()
    done = nothing_yet.run(*command, "elm")
    assert (done.returncode, output.exists()) == (1, False)
    assert "no tenant 'elm'" in done.stderr


@pytest.mark.parametrize(
    ("upstreams", "document", "said"),
    [
        (["anthropic"], None, "DIALECT=URL"),
        (["anthropic=http://example.com"], None, "Plain http"),
        (["other=https://example.com"], None, "other"),
        ([], Path("no-such-file"), "no-such-file"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_left_half_done(
    db: None, upstreams: list[str], document: Path | None, said: str
) -> None:
    options: dict[str, Any] = {"tenant": "orchid", "upstream": upstreams, "document": document}

    with pytest.raises(CommandError, match=said):
        call_command("bootstrap", **options)
    assert not User.objects.exists()
