"""headrace audit verify: whether the trail is whole (04 §8.8)."""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.cli import existing
from controlplane.cli.exits import Parser

BROKEN = 3


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 for a whole trail, 3 for a broken one."""
    parser = Parser(prog="headrace audit", description=__doc__)
    parser.add_argument("deed", choices=["verify"])
    parser.parse_args(arguments)
    existing.set_up()
    return verify()


def verify() -> int:
    from controlplane.audit import queries

    found = queries.verify()
    if found.broken_at is None:
        print(f"{found.events} events, from {found.first_hash} to {found.last_hash}")  # noqa: T201
        return 0
    print(f"broken at event {found.broken_at}: {found.problem}")  # noqa: T201
    return BROKEN
