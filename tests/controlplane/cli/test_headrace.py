"""`headrace` with a server: its lines and exit codes (04 §4.9)."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer
from ruamel.yaml import YAML

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.cli.main import main
from controlplane.cli.settings import remote_api
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.models import ConfigVersion

WRONG = "pipeline: [format]\nmod: sync\ncomponents:\n  format: {x: 1}\n"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    return tmp_path / "orchid.yaml"


@pytest.fixture
def deployment(
    transactional_db: None, tenant: Tenant, admin: User, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tenant]:
    """A server on a port of its own, and its admin's token in the environment."""
    server = LiveServer("127.0.0.1")
    _, token = issue_token(admin, "ci", admin)
    monkeypatch.setenv("HEADRACE_URL", server.url)
    monkeypatch.setenv("HEADRACE_TOKEN", token)
    yield tenant
    server.stop()


def test_a_target_is_checked_by_its_server(
    document: Path, deployment: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text("preset: nobodys\n")

    assert main(["validate", "--target", "tenant/orchid", str(document)]) == 3
    assert f"{document}:1:9: error[config.preset_not_found]" in capsys.readouterr().out
    document.write_text("pipeline: [format]\n")
    assert main(["validate", "--target", "tenant/orchid", str(document)]) == 0


def test_a_diff_ends_with_2_when_something_differs(
    document: Path, deployment: Tenant, admin: User, capsys: pytest.CaptureFixture[str]
) -> None:
    save_version(document_of(deployment), "pipeline: [format]\n", "first", admin)
    document.write_text("pipeline: [format, mask]\n")

    assert main(["diff", str(document), "--target", "tenant/orchid"]) == 2
    assert "+pipeline: [format, mask]" in capsys.readouterr().out
    document.write_text("# why\npipeline: [format]\n")
    assert main(["diff", "--effective", str(document), "--target", "tenant/orchid"]) == 0


def test_a_diff_of_a_text_with_errors_says_that_what_would_run_is_unknown(
    document: Path, deployment: Tenant, admin: User, capsys: pytest.CaptureFixture[str]
) -> None:
    save_version(document_of(deployment), "pipeline: [format]\n", "first", admin)
    document.write_text(WRONG)
    ends = [
        main(["diff", *more, str(document), "--target", "tenant/orchid"])
        for more in ([], ["--effective"])
    ]

    said = capsys.readouterr().out
    assert ends == [2, 3]
    assert said.count("What would change is unknown") == 2
    assert "nothing that runs changes" not in said


def test_bytes_that_are_no_text_are_refused_for_a_target_as_they_are_without_one(
    document: Path, deployment: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_bytes(b"pipeline: [format]  # \xff\n")

    for more in ([], ["--target", "tenant/orchid"]):
        assert main(["validate", str(document), *more]) == 3
        assert f"{document}:1:23: error[config.encoding]" in capsys.readouterr().out


def test_a_target_out_of_sight_is_named(
    document: Path, deployment: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text("pipeline: [format]\n")

    assert main(["validate", str(document), "--target", "tenant/nobodys"]) == 1
    assert "There is no tenant nobodys that you may see." in capsys.readouterr().err
    assert main(["preset", "show", "nobodys"]) == 1
    assert "There is no preset nobodys that you may see." in capsys.readouterr().err


def test_a_plan_prints_what_it_would_do_and_saves_nothing(
    document: Path, deployment: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    before = ConfigVersion.objects.count()
    out = document.with_name("plan.json")
    document.write_text("pipeline: [format]\n")

    assert main(["plan", str(document), "--target", "tenant/orchid", "--out", str(out)]) == 2
    assert "1 tenant affected" in capsys.readouterr().out
    assert json.loads(out.read_text())["plan_hash"]
    document.write_text(WRONG)
    assert main(["plan", str(document), "--target", "tenant/orchid"]) == 3
    assert f"{document}:2:1: error[config.unknown_key]" in capsys.readouterr().out
    assert ConfigVersion.objects.count() == before


@pytest.mark.usefixtures("forced")
def test_case_k_19_a_plan_and_a_check_warn_of_what_overrides_them(
    document: Path, deployment: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text("pipeline: [format]\nforce_model: m8\n")

    for command, exit_code in (("plan", 2), ("validate", 0)):
        assert main([command, str(document), "--target", "tenant/orchid"]) == exit_code
        printed = capsys.readouterr().out
        assert "warning[config.overridden_by_environment]: force_model has no effect" in printed
        assert "HEADRACE_FORCE_MODEL=m9" in printed


def test_presets_are_listed_cloned_promoted_and_looked_up(
    deployment: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preset", "list"]) == 0
    assert main(["preset", "clone", "cache", "ours", "--organisation", "acme"]) == 0
    promotion = ["preset", "promote", "ours", "--version", "1", "--message", "it is good"]
    assert main(promotion) == 0
    assert main(["preset", "show", "ours"]) == 0
    assert main(["preset", "usage", "ours"]) == 0

    printed = capsys.readouterr().out
    assert "house " in printed
    assert "ours v1" in printed
    assert "  - cachesplit" in printed
    assert "0 following, 0 pinned" in printed


def test_a_plan_of_several_files_marks_each_in_its_own(
    document: Path, deployment: Tenant, organisation: Organisation,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    create_tenant(organisation, slug="second", by=None)
    other = document.with_name("second.yaml")
    document.write_text("pipeline: [msk]\n")
    other.write_text("# fine so far\nmod: sync\n")
    targets = ["--target", "tenant/orchid", "--target", "tenant/acme/second"]

    assert main(["plan", str(document), str(other), *targets]) == 3
    printed = capsys.readouterr().out
    assert f"{document}:1:12: error[config.unknown_component]" in printed
    assert f"{other}:2:1: error[config.unknown_key]" in printed
    assert "    mod: sync\n    ^^^\n" in printed


def test_a_profile_that_nobody_else_may_read_stands_in_for_the_environment(
    deployment: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    url, token = remote_api()
    profile = tmp_path / "profile.toml"
    profile.write_text(f'url = "{url}"\ntoken = "{token}"\n')
    profile.chmod(0o644)
    monkeypatch.setenv("HEADRACE_PROFILE", str(profile))
    monkeypatch.delenv("HEADRACE_URL")
    monkeypatch.delenv("HEADRACE_TOKEN")

    assert main(["preset", "list"]) == 1
    assert f"chmod 600 {profile}" in capsys.readouterr().err
    profile.chmod(0o600)
    assert main(["preset", "list", "--output", "yaml"]) == 0
    assert YAML(typ="safe").load(capsys.readouterr().out)["items"][0]["name"] == "house"


def test_a_server_that_is_silent_ends_with_7(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("HEADRACE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("HEADRACE_TOKEN", "cg_api_x")

        assert main(["preset", "list", "--timeout", "0.2"]) == 7
    assert "did not answer within 0.2 s" in capsys.readouterr().err


def test_a_refused_token_ends_with_9_and_a_missing_one_with_1(
    deployment: Tenant,
    admin: User,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, reading = issue_token(admin, "reading", admin, TokenTerms(scopes=["config:read"]))
    monkeypatch.setenv("HEADRACE_TOKEN", reading)
    assert main(["preset", "clone", "cache", "ours", "--organisation", "acme"]) == 9
    assert "auth.scope_missing" in capsys.readouterr().err
    monkeypatch.delenv("HEADRACE_TOKEN")
    assert main(["preset", "list"]) == 1
