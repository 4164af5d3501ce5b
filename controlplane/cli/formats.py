"""What `headrace validate` found, for people and for the tools of a pipeline (04 §4.9)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import msgspec

from controlplane.cli import options, printed
from dataplane.core.config.problems import Problem, of

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB = {"error": "error", "warning": "warning", "advice": "notice"}
LEVELS = {"error": "error", "warning": "warning", "advice": "note"}


@dataclass(frozen=True, slots=True)
class Checked:
    """One file, its text, and everything that is said of it in order."""

    file: str
    source: str
    problems: Sequence[Problem]


def table(found: Sequence[Checked], *, colour: bool = False) -> str:
    shown = [
        printed.problems(one.problems, one.file, one.source, colour=colour)
        for one in found
        if one.problems
    ]
    return "\n".join(shown)


def report(found: Sequence[Checked]) -> dict[str, Any]:
    """{"files": [{file, ok, errors, warnings, advice}]}, the objects of 04 §2.4."""
    files = [
        {"file": one.file, "ok": not of("error", one.problems), **_split(one)} for one in found
    ]
    return {"files": files}


def as_json(found: Sequence[Checked]) -> str:
    return json.dumps(report(found), indent=2, ensure_ascii=False)


def as_yaml(found: Sequence[Checked]) -> str:
    return options.as_yaml(report(found))


def _split(one: Checked) -> dict[str, Any]:
    """By severity, under the names of the API's envelope."""
    return {
        "errors": msgspec.to_builtins(of("error", one.problems)),
        "warnings": msgspec.to_builtins(of("warning", one.problems)),
        "advice": msgspec.to_builtins(of("advice", one.problems)),
    }


def github(found: Sequence[Checked]) -> str:
    """Workflow commands, which mark the lines of a pull request."""
    return "\n".join(_command(problem, one.file) for one in found for problem in one.problems)


def _command(problem: Problem, file: str) -> str:
    facts = {"file": file, "line": problem.line or 1, "col": problem.column or 1}
    if problem.end_line is not None:
        facts |= {"endLine": problem.end_line, "endColumn": problem.end_column or 1}
    facts["title"] = problem.code
    named = ",".join(f"{name}={_escaped(str(value), more=True)}" for name, value in facts.items())
    return f"::{GITHUB[problem.severity]} {named}::{_escaped(_sentence(problem))}"


def _escaped(value: str, *, more: bool = False) -> str:
    for char in "%\r\n" + (":," if more else ""):
        value = value.replace(char, f"%{ord(char):02X}")
    return value


def _sentence(problem: Problem) -> str:
    return " ".join(filter(None, (problem.message, problem.reason, problem.replacement.text)))


def sarif(found: Sequence[Checked]) -> str:
    """Static analysis results, version 2.1.0."""
    every = [(one.file, problem) for one in found for problem in one.problems]
    rules = sorted({problem.code for _, problem in every})
    driver = {
        "name": "headrace",
        "rules": [{"id": code, "helpUri": f"/docs/errors/{code}"} for code in rules],
    }
    results = [_result(file, problem) for file, problem in every]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    document = {"$schema": SARIF, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _result(file: str, problem: Problem) -> dict[str, Any]:
    region = {"startLine": problem.line or 1, "startColumn": problem.column or 1}
    if problem.end_line is not None:
        region |= {"endLine": problem.end_line, "endColumn": problem.end_column or 1}
    place = {"artifactLocation": {"uri": file}, "region": region}
    return {
        "ruleId": problem.code,
        "level": LEVELS[problem.severity],
        "message": {"text": _sentence(problem)},
        "locations": [{"physicalLocation": place}],
    }


def junit(found: Sequence[Checked]) -> str:
    """A test case a file, which fails with its errors."""
    failed = [one for one in found if of("error", one.problems)]
    suite = Element(
        "testsuite", name="headrace validate", tests=str(len(found)), failures=str(len(failed))
    )
    for one in found:
        case = SubElement(suite, "testcase", classname="headrace", name=one.file)
        if one in failed:
            errors = of("error", one.problems)
            failure = SubElement(case, "failure", message=_sentence(errors[0]), type=errors[0].code)
            failure.text = _for_xml(printed.problems(errors, one.file, one.source))
    return tostring(suite, encoding="unicode")


def _for_xml(shown: str) -> str:
    """XML 1.0 has no control characters, not even escaped ones."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in shown)


FORMATS: dict[str, Callable[[Sequence[Checked]], str]] = {
    "table": table,
    "json": as_json,
    "yaml": as_yaml,
    "github": github,
    "sarif": sarif,
    "junit": junit,
}
