"""`headrace` without a server: what it prints, in which forms, and what it ends with (04 §4.9)."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from ruamel.yaml import YAML

from controlplane.cli.main import COMMANDS, main

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
