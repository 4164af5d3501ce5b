"""The `headrace` command (04 §4.9): a module each, loaded when asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from controlplane.cli.exits import DONE, UNEXPECTED
from controlplane.cli.failing import UnusableError, said_in_a_line
from dataplane.settings import SettingsError

COMMANDS = {
    "validate": ("controlplane.cli.validate", "check documents, with or without a server"),
    "diff": ("controlplane.cli.diff", "what a file would change at its target"),
    "plan": ("controlplane.cli.plan", "try a change out; nothing live is touched"),
    "preset": ("controlplane.cli.preset", "list, show, clone, promote, usage"),
    "snapshot": ("controlplane.cli.snapshot", "write the bundle that a node alone starts from"),
    "audit": ("controlplane.cli.audit", "verify the trail of changes"),
    "secrets": ("controlplane.cli.secrets", "rekey: seal every secret with the newest key"),
    "factor": ("controlplane.cli.factor", "remove: take away somebody's second factor"),
    "replay": ("dataplane.replay.main", "send recorded sessions through a gateway"),
}
HELP = frozenset({"-h", "--help", "help"})


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: one of controlplane.cli.exits."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in HELP:
        print(usage())  # noqa: T201  this is what the command is for
        return DONE if given else UNEXPECTED
    name, *rest = given
    if name not in COMMANDS:
        print(f"headrace: no command {name!r}\n\n{usage()}", file=sys.stderr)  # noqa: T201
        return UNEXPECTED
    try:
        run: Callable[[Sequence[str]], int | None] = import_module(COMMANDS[name][0]).main
        with said_in_a_line():
            code = run(rest) or DONE
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` has; nothing more is written at the exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNEXPECTED
    except (SettingsError, UnusableError) as problem:
        print(f"headrace {name}: {problem}", file=sys.stderr)  # noqa: T201
        return UNEXPECTED
    return code


def usage() -> str:
    rows = [f"  {name:<10} {what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(["usage: headrace COMMAND …", "", *rows])


if __name__ == "__main__":
    sys.exit(main())
