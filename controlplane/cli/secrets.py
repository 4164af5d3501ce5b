"""headrace secrets rekey: seal all secrets with the first key of HEADRACE_SECRET_KEYS (04 §8.5)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from controlplane.cli import existing
from controlplane.cli.exits import Parser

UNREADABLE = 1


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when the earlier keys are no longer needed, 1 when a secret does not open."""
    parser = Parser(prog="headrace secrets", description=__doc__)
    parser.add_argument("deed", choices=["rekey"])
    parser.parse_args(arguments)
    existing.set_up()
    return rekey()


def rekey() -> int:
    from controlplane.accounts import vault

    try:
        count = vault.rekey(by=None)
    except vault.UnreadableSecretsError as problem:
        print(f"headrace secrets: {problem}", file=sys.stderr)  # noqa: T201
        return UNREADABLE
    print(f"{count} secrets sealed again")  # noqa: T201
    return 0
