"""headrace snapshot: tenants, keys and upstreams in one file (00 §3, 03 §9.5)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from controlplane.cli import existing
from controlplane.cli.exits import DONE, UNEXPECTED, Parser
from dataplane.files import private_file


def main(arguments: Sequence[str]) -> int:
    parser = Parser(prog="headrace snapshot", description=__doc__)
    parser.add_argument("--tenant", action="append", required=True, metavar="SLUG")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    given = parser.parse_args(arguments)
    existing.set_up()
    return write(given.tenant, given.output)


def write(slugs: Sequence[str], output: Path) -> int:
    """The file is for its owner alone: it holds digests of keys and addresses of upstreams."""
    from controlplane.cli import bundling

    try:
        raw = bundling.bundle_of(slugs)
    except bundling.UnknownTenantError as problem:
        print(f"headrace snapshot: {problem}", file=sys.stderr)  # noqa: T201
        return UNEXPECTED
    try:
        private_file(output).write_bytes(raw)
    except OSError as problem:
        print(f"headrace snapshot: {problem}", file=sys.stderr)  # noqa: T201
        return UNEXPECTED
    return DONE
