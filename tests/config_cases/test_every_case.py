"""No V, P or K case of the configuration is left out silently."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.config_cases import coverage
from tests.house import ROOT

NAMED = [(case, test) for case, tests in coverage.TESTED.items() for test in tests]


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_every_case_is_tested_or_listed_with_its_reason() -> None:
    assert {*coverage.TESTED, *coverage.LATER} == coverage.ALL
    assert not coverage.TESTED.keys() & coverage.LATER.keys()
    assert coverage.OPEN_PARTS.keys() <= coverage.TESTED.keys()
    for reason in (*coverage.LATER.values(), *coverage.OPEN_PARTS.values()):
        assert reason.endswith(".")


@pytest.mark.parametrize(("case", "test"), NAMED, ids=[f"{case}-{test}" for case, test in NAMED])
def test_what_the_table_names_is_there(case: str, test: str) -> None:
    file, _, name = test.partition("::")

    assert name in functions_of(file), case
