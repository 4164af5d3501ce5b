"""No D or A case of 08-field-cases.md is left out silently."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests import house
from tests.watching_cases import coverage


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((house.ROOT / path).read_text(encoding="utf-8"))
    wanted = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, wanted))


def test_every_case_is_tested_or_listed_with_its_reason() -> None:
    assert coverage.TESTS.keys() | coverage.LATER.keys() == coverage.ALL
    assert not coverage.TESTS.keys() & coverage.LATER.keys()
    assert coverage.OPEN_PARTS.keys() <= coverage.TESTS.keys()
    assert all(why.endswith(".") for why in (coverage.LATER | coverage.OPEN_PARTS).values())


@pytest.mark.parametrize("case", coverage.TESTS)
def test_the_tests_of_a_case_exist(case: str) -> None:
    for test in coverage.TESTS[case]:
        path, _, name = test.partition("::")
        assert name in functions(path)
