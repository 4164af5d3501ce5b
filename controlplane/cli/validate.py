"""headrace validate: check documents, here or as the place they are meant for would."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from controlplane.cli import options, remote
from controlplane.cli.exits import DONE, INVALID, UNEXPECTED, Parser
from controlplane.cli.files import FileError, bytes_of
from controlplane.cli.formats import FORMATS, Checked, table
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.problems import (
    DocumentRef,
    Inner,
    OneOf,
    Problem,
    Range,
    Replacement,
    Suggestion,
    of,
)

STDIN = "-"
NESTED: dict[str, Any] = {
    "document": DocumentRef | None,
    "replacement": Replacement,
    "suggestions": tuple[Suggestion, ...],
    "errors": tuple[Inner, ...],
}


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when nothing is wrong, 3 on errors (with --strict also on warnings)."""
    parser = Parser(prog="headrace validate", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="- reads standard input")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument("--target", default="", help="tenant/NAME, preset/NAME, organisation/NAME")
    parser.add_argument("--offline", action="store_true", help="use the packaged registry alone")
    parser.add_argument("--preset", action="store_true", help="the files are presets (offline)")
    options.add(parser, list(FORMATS))
    given = parser.parse_args(arguments)
    options.take(given)
    is_here = given.offline or not given.target
    try:
        found = [
            checked(file, "" if is_here else given.target, is_preset=given.preset)
            for file in given.files
        ]
    except FileError as problem:
        return said(str(problem), UNEXPECTED)
    except remote.RemoteError as refused:
        return said(str(refused), refused.exit_code)
    is_table = given.output in ("table", options.TEXT)
    colour = options.has_colour(given)
    options.say(given, table(found, colour=colour) if is_table else FORMATS[given.output](found))
    return max(verdict(one, strict=given.strict) for one in found)


def checked(file: str, target: str, *, is_preset: bool = False) -> Checked:
    """target: where it is meant for, which only the server knows; "" for the packaged registry."""
    raw = sys.stdin.buffer.read() if file == STDIN else bytes_of(Path(file))
    source = raw.decode(errors="replace")
    if source.encode() != raw:
        target = ""  # no server could be sent these bytes, and none would take them
    found = there(source, target) if target else here(raw, is_preset=is_preset)
    return Checked("stdin" if file == STDIN else file, source, found)


def here(raw: bytes, *, is_preset: bool = False) -> Sequence[Problem]:
    """As a document that builds on nothing; presets are the packaged ones."""
    ref = DocumentRef("preset", "new") if is_preset else DocumentRef("tenant")
    return check(raw, context=Context(components(), document=ref)).problems


def there(source: str, target: str) -> Sequence[Problem]:
    """As the server says it; RemoteError for every other refusal."""
    try:
        body = remote.call("POST", "/validate", {"source_yaml": source, "target": target}).body
    except remote.RemoteError as refused:
        if refused.exit_code != INVALID:
            raise
        body = refused.body
    return problems_in(body)


def problems_in(body: Any) -> Sequence[Problem]:
    """Of a report or of the envelope, in the order of the text."""
    every = [one for part in ("errors", "warnings", "advice") for one in body.get(part, ())]
    found = [problem_of(one) for one in every]
    return sorted(found, key=lambda one: (one.line or sys.maxsize, one.column or 0, one.path))


def problem_of(told: Mapping[str, Any]) -> Problem:
    """The object of 04 §2.4 from its JSON."""
    nested = {name: msgspec.convert(told[name], type_) for name, type_ in NESTED.items()}
    if expected := told["expected"]:
        nested["expected"] = msgspec.convert(expected, OneOf if "enum" in expected else Range)
    return Problem(**{**told, **nested})


def verdict(found: Checked, *, strict: bool) -> int:
    wrong = of("error", found.problems) or (strict and of("warning", found.problems))
    return INVALID if wrong else DONE


def said(problem: str, exit_code: int, command: str = "validate") -> int:
    print(f"headrace {command}: {problem}", file=sys.stderr)  # noqa: T201
    return exit_code
