"""No test's answer depends on how busy the machine is, as far as its text shows that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest

from tests import house

SHORTEST_WAIT_S = 30
CLOCKS = frozenset({"monotonic", "perf_counter", "process_time"})
FLAGS = CLOCKS | {"is_set", "is_alive", "done", "poll"}
PAUSES = frozenset({"sleep", "wait", "wait_for_timeout", "join", "result"})


def called(node: ast.AST) -> str:
    """What a call names last, "" for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        return house.named(node.func)
    return ""


def calls_any(node: ast.AST, names: frozenset[str]) -> bool:
    return any(called(each) in names for each in ast.walk(node))


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def numbers(module: ast.Module) -> dict[str, float]:
    """The numbers that have a name of the module's own."""
    return {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, int | float)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def bounds(node: ast.AST) -> Iterator[ast.expr]:
    """How long a call may take before the test fails, where it says so."""
    if isinstance(node, ast.Call):
        yield from (each.value for each in node.keywords if each.arg == "timeout")
        if called(node) == "timeout":
            yield from node.args


def runs_out(node: ast.With | ast.Try) -> bool:
    """Whether a TimeoutError is what is waited for inside."""
    expected = node.items if isinstance(node, ast.With) else [each.type for each in node.handlers]
    return any("TimeoutError" in names_in(each) for each in expected if each is not None)


def impatient(module: ast.Module) -> Iterator[int]:
    """Waits of a few seconds, except those that are meant to run out."""
    known = numbers(module)
    meant = {
        inner
        for node in ast.walk(module)
        if isinstance(node, ast.With | ast.Try) and runs_out(node)
        for inner in ast.walk(node)
    }
    for node in ast.walk(module):
        unit = 1000 if called(node).startswith(("to_", "not_to_")) else 1
        for bound in bounds(node):
            value = bound.value if isinstance(bound, ast.Constant) else None
            value = known.get(bound.id) if isinstance(bound, ast.Name) else value
            if isinstance(value, int | float) and value < SHORTEST_WAIT_S * unit:
                yield from [bound.lineno] * (node not in meant)


def timed(module: ast.Module) -> Iterator[int]:
    """Asserts about what a clock said in the same function, but for promises that were scaled."""
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        inside = list(ast.walk(function))
        said = {
            name
            for node in inside
            if isinstance(node, ast.Assign) and calls_any(node.value, CLOCKS)
            for target in node.targets
            for name in names_in(target)
        }
        for node in inside:
            if isinstance(node, ast.Assert) and not calls_any(node, frozenset({"promised_s"})):
                is_timed = calls_any(node.test, CLOCKS) or bool(said & names_in(node.test))
                yield from [node.lineno] * is_timed


def spinning(module: ast.Module) -> Iterator[int]:
    """Loops that ask a flag or a clock again and again and never pause, so that others starve."""
    for node in ast.walk(module):
        if isinstance(node, ast.While) and calls_any(node, FLAGS):
            awaits = any(isinstance(each, ast.Await) for each in ast.walk(node))
            yield from [node.lineno] * (not awaits and not calls_any(node, PAUSES))


Rule = Callable[[ast.Module], Iterator[int]]
BREACHES: dict[Rule, str] = {
    impatient: "async def test():\n    async with asyncio.timeout(5):\n        await it\n",
    timed: "def test():\n    took = monotonic() - began\n    assert took < 1\n",
    spinning: "while more:\n    more = writing.is_set()\n    look()\n",
}


@pytest.mark.parametrize("rule", BREACHES, ids=lambda rule: rule.__name__)
def test_no_test_is(rule: Rule) -> None:
    found = [f"{name}:{line}" for name in house.modules("tests") for line in rule(house.tree(name))]

    assert found == []


@pytest.mark.parametrize("rule", BREACHES, ids=lambda rule: rule.__name__)
def test_a_breach_is_found(rule: Rule) -> None:
    assert list(rule(ast.parse(BREACHES[rule]))) != []
