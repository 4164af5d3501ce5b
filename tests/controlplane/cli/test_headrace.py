"""The `headrace` command: its subcommands, its output lines, its exit codes (04 section 4.9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.cli.main import COMMANDS, main


@pytest.fixture
def document(tmp_path: Path) -> Path:
    return tmp_path / "orchid.yaml"


def test_a_valid_document_prints_nothing_and_ends_with_0(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text("pipeline: [format]\n")

    assert main(["validate", str(document)]) == 0
    assert capsys.readouterr().out == ""


def test_each_problem_is_a_line_with_its_place_and_code(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document.write_text("pipeline: [format]\nmod: sync\ncomponents:\n  format: {x: 1}\n")

    assert main(["validate", str(document)]) == 3
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{document}:2:1: error[config.unknown_key]: ")
    assert second.startswith(f"{document}:4:12: error[config.unknown_key]: ")


def test_the_worst_of_several_documents_decides(document: Path) -> None:
    document.write_text("pipeline: []\n")
    wrong = document.with_name("wrong.yaml")
    wrong.write_bytes(b"\xff")

    assert main(["validate", str(document), str(wrong)]) == 3


def test_a_file_that_cannot_be_read_is_not_a_wrong_document(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(document)]) == 1
    assert "No such file" in capsys.readouterr().err


def test_without_a_command_it_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in COMMANDS)
    assert main(["--help"]) == 0


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout"]) == 2
    assert "'rollout'" in capsys.readouterr().err
