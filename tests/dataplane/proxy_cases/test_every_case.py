"""No case of 03-proxy-and-recovery.md 10.1 to 10.10 and 10.12 is left out silently."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import house
from tests.dataplane.proxy_cases import coverage

TESTS = house.ROOT / "tests"
# Folders and files whose numbers are those of other specifications.
OTHERS = (
    "dataplane/core/config/",
    "dataplane/core/components/",
    "dataplane/core/prices/test_money.py",
    "dataplane/field_cases/",
    "dataplane/replay/",
    "dataplane/simulator/",
)
_NAME = re.compile(r"test_(?:case|03)_(\d{1,3})_")
_ID = re.compile(r"(?:03-case-|03-(?=\d))?(\d{1,3})(?:-|$)")


def files() -> Iterator[Path]:
    for path in sorted((TESTS / "dataplane").rglob("test_*.py")):
        if not path.relative_to(TESTS).as_posix().startswith(OTHERS):
            yield path


def numbers_in(source: str) -> set[int]:
    """The cases that the tests of a module say they show."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {int(match[1]) for match in [_NAME.match(node.name)] if match}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "param":
            found |= {int(match[1]) for match in map(_ID.match, _ids(node)) if match}
    return found


def _ids(call: ast.Call) -> Iterator[str]:
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg == "id" and isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


@pytest.fixture(scope="module")
def shown() -> set[int]:
    return set().union(*(numbers_in(path.read_text(encoding="utf-8")) for path in files()))


def test_every_case_is_shown_measured_or_listed_with_its_reason(shown: set[int]) -> None:
    named = shown & coverage.NUMBERS

    assert coverage.NUMBERS - named - {*coverage.MEASURED, *coverage.LATER} == set()


def test_a_case_that_is_listed_as_missing_is_not_shown_already(shown: set[int]) -> None:
    assert not shown & coverage.LATER.keys()
    assert all(reason.endswith(".") for reason in coverage.LATER.values())
    assert {*coverage.LATER, *coverage.MEASURED} <= coverage.NUMBERS


@pytest.mark.parametrize(("path", "name"), coverage.MEASURED.values(), ids=coverage.MEASURED)
def test_what_measures_a_case_is_there(path: str, name: str) -> None:
    tree = ast.parse((house.ROOT / path).read_text(encoding="utf-8"))

    assert name in {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_a_number_is_read_from_names_and_ids_and_from_nothing_else() -> None:
    source = """
def test_case_7_something(): ...
async def test_03_122_of_four_entries(): ...
def test_of_9_things(): ...
many = [param(1, id="03-case-62"), param(2, id="47-splice"), param(3, id="03-127-flipped"),
        param(4, id="03"), param(5, id="in 5 parts"), param(6)]
"""

    assert numbers_in(
        source.replace(" param(", " pytest.param(").replace("[param(", "[pytest.param(")
    ) == {
        7,
        122,
        62,
        47,
        127,
        3,
    }
