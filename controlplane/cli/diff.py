"""headrace diff: what a file would change at its target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from controlplane.cli import options, remote
from controlplane.cli.exits import DONE, INVALID, PENDING, UNEXPECTED, Parser
from controlplane.cli.files import FileError, text_of
from controlplane.cli.validate import said


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when equal, 2 when different, 3 when what would run cannot be told."""
    parser = Parser(prog="headrace diff", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--target", required=True, help="tenant/NAME, preset/NAME, …")
    parser.add_argument("--effective", action="store_true", help="compare what would run")
    options.add(parser)
    given = parser.parse_args(arguments)
    options.take(given)
    try:
        source = text_of(given.file)
        body = {"source_yaml": source, "target": given.target}
        found = remote.call("POST", "/diff", body).body
    except FileError as problem:
        return said(str(problem), UNEXPECTED, "diff")
    except remote.RemoteError as refused:
        return said(str(refused), refused.exit_code, "diff")
    if given.effective and found["running"] is None:
        options.put(given, found, lambda _: found["summary"])
        return INVALID
    changes = found["running"] if given.effective else changed_lines(found["unified"])
    shown = found["summary"] if given.effective else [*found["unified"], "", *found["summary"]]
    options.put(given, found, lambda _: shown if changes else ())
    return PENDING if changes else DONE


def changed_lines(unified: Sequence[str]) -> list[str]:
    return [line for line in unified if line[:1] in ("+", "-")]
