"""What every online command understands: --output, --quiet, --no-color, --timeout (04 §4.9)."""

from __future__ import annotations

import io
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ruamel.yaml import YAML

from controlplane.cli import remote
from controlplane.cli.settings import is_plain

FORMS = ("table", "json", "yaml")
TEXT = "text"  # what table was called first


def add(parser: ArgumentParser, outputs: Sequence[str] = FORMS) -> None:
    parser.add_argument("--output", choices=[*outputs, TEXT], default="table")
    parser.add_argument("--quiet", action="store_true", help="print nothing; the exit code tells")
    parser.add_argument("--no-color", action="store_true", help="as the variable NO_COLOR does")
    parser.add_argument("--timeout", type=float, default=remote.TIMEOUT_S, metavar="SECONDS")


def take(given: Namespace) -> None:
    """What concerns every request of the command."""
    remote.patience_s.set(given.timeout)


def has_colour(given: Namespace) -> bool:
    """Only somebody at a terminal who does not mind."""
    return sys.stdout.isatty() and not given.no_color and not is_plain()


def put(given: Namespace, found: Any, table: Callable[[Any], Iterable[str]]) -> None:
    """The answer of the API in the form that was asked for. table: its lines for people."""
    if given.output == "json":
        text = json.dumps(found, indent=2, ensure_ascii=False)
    elif given.output == "yaml":
        text = as_yaml(found)
    else:
        text = "\n".join(table(found))
    say(given, text)


def say(given: Namespace, text: str) -> None:
    if text and not given.quiet:
        print(text)  # noqa: T201  what a command is for


def as_yaml(found: Any) -> str:
    out = io.StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.allow_unicode = True
    writer.dump(found, out)
    return out.getvalue().rstrip("\n")
