"""headrace snapshot: tenants, keys and upstreams in one file (00 section 3, 03 9.5)."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import django

from controlplane.settings.environment import name_settings_module, private_file

NOT_FOUND = 1


def main(arguments: Sequence[str]) -> int:
    parser = ArgumentParser(prog="headrace snapshot", description=__doc__)
    parser.add_argument("--tenant", action="append", required=True, metavar="SLUG")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    given = parser.parse_args(arguments)
    name_settings_module()
    django.setup()
    return write(given.tenant, given.output)


def write(slugs: Sequence[str], output: Path) -> int:
    """The file is for its owner alone: it holds digests of keys and addresses of upstreams."""
    from controlplane.cli import bundling

    try:
        raw = bundling.bundle_of(slugs)
    except bundling.UnknownTenantError as problem:
        print(f"headrace snapshot: {problem}", file=sys.stderr)  # noqa: T201
        return NOT_FOUND
    private_file(output).write_bytes(raw)
    return 0
