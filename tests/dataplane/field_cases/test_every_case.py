"""No W, C, P or R case of 08-field-cases.md is left out silently."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests import house
from tests.dataplane.field_cases import casefile, coverage
from tests.dataplane.field_cases.checks import CHECKS
from tests.dataplane.field_cases.test_case_files import NAMES

_CASE = re.compile(r"test_case_([wcpr])_(\d\d)_")
BY_HAND = [
    *Path(__file__).parent.glob("test_*.py"),
    house.ROOT / "tests" / "controlplane" / "ui" / "test_field_cases.py",
    house.ROOT / "tests" / "controlplane" / "live" / "test_field_cases.py",
    house.ROOT / "tests" / "journeys" / "test_streams.py",
    house.ROOT / "tests" / "journeys" / "pages" / "test_hostile_text.py",
]


def by_hand() -> set[str]:
    """The cases that some test of ours names."""
    found = set()
    for path in BY_HAND:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found |= {f"{m[1].upper()}-{m[2]}" for m in [_CASE.match(node.name)] if m}
    return found


def test_every_case_is_played_written_by_hand_or_listed_with_its_reason() -> None:
    assert {*NAMES, *by_hand(), *coverage.LATER} == coverage.ALL


def test_a_case_that_is_listed_as_missing_is_not_tested_already() -> None:
    assert not coverage.LATER.keys() & {*NAMES, *by_hand()}
    assert all(reason.endswith(".") for reason in coverage.LATER.values())
    assert coverage.OPEN_PARTS.keys() <= {*NAMES, *by_hand()}


def test_every_file_is_played_or_read_by_hand() -> None:
    files = {path.stem for path in casefile.files()}

    assert files - set(NAMES) == coverage.CONTROL_PLANE
    assert files <= coverage.ALL


def test_a_member_that_is_read_otherwise_is_one_that_a_file_has() -> None:
    for (name, member), reason in coverage.READ_OTHERWISE.items():
        assert member in casefile.load(name).turns[-1].expect
        assert member in CHECKS
        assert reason.endswith(".")
