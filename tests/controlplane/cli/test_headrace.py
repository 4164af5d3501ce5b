"""The `headrace` command: its subcommands, its output lines, its exit codes (04 section 4.9)."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from pytest_django.live_server_helper import LiveServer
from ruamel.yaml import YAML

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.cli.main import COMMANDS, main
from controlplane.cli.settings import remote_api
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.models import ConfigVersion

SWEEP = """\
pipeline:
  - extract_llm
  - extract_llm_sweep
components:
  extract_llm:
    per_output: false  # no longer
  extract_llm_sweep:
    model: {source: config}
"""
WRONG = "pipeline: [format]\nmod: sync\ncomponents:\n  format: {x: 1}\n"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    return tmp_path / "orchid.yaml"


# ---- validate, without a server ---------------------------------------------------------------


def test_a_valid_document_prints_nothing_and_ends_with_0(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text("pipeline: [format]\n")

    assert main(["validate", str(document)]) == 0
    assert capsys.readouterr().out == ""


def test_each_problem_has_its_place_its_line_a_caret_and_what_to_write_instead(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text("pipeline: [mask]\ncomponents:\n  mask: {keep_recnt: 4}\n")

    assert main(["validate", str(document)]) == 3
    place, line, caret, *rest = capsys.readouterr().out.splitlines()
    assert place.startswith(f"{document}:3:10: error[config.unknown_key]: ")
    assert line == "      mask: {keep_recnt: 4}"
    assert caret == "    " + " " * 9 + "^" * 10
    assert any("keep_recent" in one and one.startswith("    fix: ") for one in rest)


@pytest.mark.parametrize(
    ("text", "line", "caret"),
    [
        pytest.param("pipeline: [mask, \t msk]\n", "pipeline: [mask, \t msk]",
                     " " * 17 + "\t ^^^", id="tab"),
        pytest.param("{'😀é': 1}\n", "{'😀é': 1}", " ^^^^^", id="two columns wide"),
        pytest.param("# a\u2028b\nmod: 1\n", "mod: 1", "^^^", id="an old line end"),
        pytest.param(f"{{mode: {' ' * 300}sync, zzz: 1}}\n", "   sync, zzz: 1}",
                     " " * 51 + "^^^", id="a long line"),
    ],
)  # fmt: skip
def test_a_caret_stands_below_what_is_meant(
    document: Path, text: str, line: str, caret: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text(text, encoding="utf-8")

    assert main(["validate", str(document)]) == 3
    printed = capsys.readouterr().out
    found = printed.split("config.unknown_")[-1].splitlines()
    assert found[2] == f"    {caret}"
    assert found[1].endswith(line[-20:])


def test_the_block_of_an_earlier_release_is_told_both_of_its_mistakes(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text(SWEEP)

    assert main(["validate", "--offline", str(document)]) == 3
    printed = capsys.readouterr().out
    assert f"{document}:6:5: error[config.removed_key]" in printed
    assert "    per_output: false" in printed
    assert f"{document}:8:5: error[config.refused_key]" in printed
    assert printed.count("    reason: ") >= 2


def test_the_worst_of_several_documents_decides(document: Path) -> None:
    document.write_text("pipeline: []\n")
    wrong = document.with_name("wrong.yaml")
    wrong.write_bytes(b"\xff")

    assert main(["validate", str(document), str(wrong)]) == 3


def test_warnings_decide_only_when_they_are_asked_to(document: Path) -> None:
    document.write_text("pipeline: [format]\ncomponents:\n  mask: {keep_recent: 4}\n")

    assert main(["validate", str(document)]) == 0
    assert main(["validate", "--strict", str(document)]) == 3


def test_a_file_that_cannot_be_read_is_not_a_wrong_document(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(document)]) == 1
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["validate", "diff", "plan"])
def test_a_file_is_refused_by_its_name_alone(
    document: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(document), "--target", "tenant/orchid"]) == 1
    said = capsys.readouterr().err
    assert said == f"headrace {command}: {document}: No such file or directory\n"


@pytest.mark.parametrize("command", ["diff", "plan"])
def test_bytes_that_are_no_text_are_neither_compared_nor_planned(
    document: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_bytes(b"mode: \xff\n")

    assert main([command, str(document), "--target", "tenant/orchid"]) == 1
    assert f"{document}: not UTF-8 text" in capsys.readouterr().err


def test_who_reads_no_further_ends_the_command_quietly(document: Path) -> None:
    document.write_text("".join(f"key{n}: 1\n" for n in range(200)))
    command = [sys.executable, "-m", "controlplane.cli.main", "validate", str(document)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stderr
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 1


def test_standard_input_is_read_and_a_preset_may_extend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Given:
        buffer = io.BytesIO(b"extends: off\n")

    monkeypatch.setattr(sys, "stdin", Given)
    assert main(["validate", "--preset", "-"]) == 0


def reported(document: Path, output: str, capsys: pytest.CaptureFixture[str]) -> str:
    document.write_text(WRONG)
    assert main(["validate", "--output", output, str(document)]) == 3
    return capsys.readouterr().out


def test_json_holds_the_objects_of_the_api(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = json.loads(reported(document, "json", capsys))["files"]

    assert (file["file"], file["ok"]) == (str(document), False)
    assert [(one["code"], one["line"]) for one in file["errors"]] == [
        ("config.unknown_key", 2),
        ("config.unknown_key", 4),
    ]


def test_github_gets_one_command_a_problem(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = reported(document, "github", capsys).splitlines()

    assert first.startswith(f"::error file={document},line=2,col=1,endLine=2,endColumn=4,title=")
    assert second.startswith("::error ")


def test_sarif_names_rules_and_places(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(reported(document, "sarif", capsys))

    (run,) = found["runs"]
    assert found["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["config.unknown_key"]
    region = run["results"][1]["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (4, 12)


def test_junit_has_a_failed_case_for_a_wrong_file(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = fromstring(reported(document, "junit", capsys))  # noqa: S314  our own output

    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "4:12" in str(failure.text)


def test_yaml_holds_the_same_as_json(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    as_json = json.loads(reported(document, "json", capsys))

    assert YAML(typ="safe").load(reported(document, "yaml", capsys)) == as_json


def test_quiet_leaves_the_exit_code_alone_to_tell(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text(WRONG)

    assert main(["validate", "--quiet", str(document)]) == 3
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("flags", "variable", "has_colour"),
    [([], "", True), (["--no-color"], "", False), ([], "1", False)],
    ids=["by itself", "--no-color", "NO_COLOR"],
)
def test_a_terminal_gets_colours_unless_they_are_unwanted(
    document: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], variable: str,
    *, has_colour: bool,
) -> None:  # fmt: skip
    document.write_text(WRONG)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("NO_COLOR", variable)

    assert main(["validate", *flags, str(document)]) == 3

    assert ("\x1b[31merror[config.unknown_key]\x1b[0m" in terminal.getvalue()) is has_colour


# ---- with a server ----------------------------------------------------------------------------


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


# ---- the command itself -----------------------------------------------------------------------


def test_without_a_command_it_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in COMMANDS)
    assert main(["--help"]) == 0


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout"]) == 1
    assert "'rollout'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["validate", "diff", "plan", "preset"])
def test_wrong_usage_is_never_taken_for_a_pending_change(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--targt", "tenant/orchid"])

    assert ended.value.code == 1
    assert f"usage: headrace {command}" in capsys.readouterr().err
