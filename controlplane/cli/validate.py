"""headrace validate: check documents against the packaged registry, without a server."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from controlplane.cli import printed
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.problems import Problem, of

INVALID = 3
UNREADABLE = 1


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when nothing is wrong, 3 on errors (with --strict also on warnings)."""
    parser = ArgumentParser(prog="headrace validate", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    given = parser.parse_args(arguments)
    return max(verdict(file, strict=given.strict) for file in given.files)


def verdict(file: Path, *, strict: bool) -> int:
    try:
        source = file.read_bytes()
    except OSError as problem:
        print(f"headrace validate: {problem}", file=sys.stderr)  # noqa: T201
        return UNREADABLE
    found = problems_in(source)
    if found:
        print(printed.problems(found, str(file)))  # noqa: T201  what the command is for
    wrong = of("error", found) or (strict and of("warning", found))
    return INVALID if wrong else 0


def problems_in(source: bytes) -> Sequence[Problem]:
    """As a tenant's document that builds on nothing; presets are the packaged ones."""
    return check(source, context=Context(components())).problems
