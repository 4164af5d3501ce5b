"""Run tests of the control plane on a PostgreSQL of their own: python -m tests.on_postgres PATH…

It is started for them in a temporary directory and stopped after them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.servers import has_postgres, postgres_server

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}  # noqa: TID251  no settings in tests


def urls(directory: Path) -> dict[str, str]:
    """What tells the control plane of it; Django makes the test databases beside these."""
    address = f"postgresql://headrace@/{{}}?host={directory}"
    return {
        "HEADRACE_DATABASE_URL": address.format("control"),
        "HEADRACE_TELEMETRY_DATABASE_URL": address.format("telemetry"),
    }


def main(arguments: list[str]) -> int:
    if not has_postgres():
        sys.stderr.write("skipped on PostgreSQL: it is not installed\n")
        return int(IN_CI)
    with postgres_server() as directory:
        environment = {**os.environ, **urls(directory)}  # noqa: TID251  passed on
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments], env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
