"""headrace factor remove EMAIL: for who lost authenticator and every recovery code (04 §8.1)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from controlplane.cli import existing
from controlplane.cli.exits import Parser

NOBODY = 1


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when the password alone opens the account, 1 when there is no such person."""
    parser = Parser(prog="headrace factor", description=__doc__)
    parser.add_argument("deed", choices=["remove"])
    parser.add_argument("email")
    given = parser.parse_args(arguments)
    existing.set_up()
    return remove(given.email)


def remove(email: str) -> int:
    from controlplane.accounts import second_factor
    from controlplane.accounts.models import User

    user = User.objects.filter(email=email.strip().lower()).first()
    if user is None:
        print(f"headrace factor: nobody has the address {email}", file=sys.stderr)  # noqa: T201
        return NOBODY
    second_factor.remove(user, None)
    print(f"{user.email} signs in with the password alone")  # noqa: T201
    return 0
