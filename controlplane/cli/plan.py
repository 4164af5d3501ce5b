"""headrace plan: try a change out and print what it would do; nothing live is touched."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.cli import options, printed, remote
from controlplane.cli.exits import DONE, INVALID, PENDING, UNEXPECTED, Parser
from controlplane.cli.files import FileError, text_of
from controlplane.cli.printed import INDENT
from controlplane.cli.validate import problems_in, said
from dataplane.core.config.problems import Problem
from dataplane.files import private_file


def main(arguments: Sequence[str]) -> int:
    """Exit code 2 when something would change, 0 when nothing would, 3 on errors."""
    parser = Parser(prog="headrace plan", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--target", action="append", required=True, help="one for each file")
    parser.add_argument("--message", default="Planned on the command line")
    parser.add_argument("--out", type=Path, metavar="plan.json", help="keep the plan here")
    options.add(parser)
    given = parser.parse_args(arguments)
    options.take(given)
    if len(given.files) != len(given.target):
        return said("Give one --target for each file.", UNEXPECTED, "plan")
    try:
        texts = [text_of(file) for file in given.files]
        plan = remote.call("POST", "/plans", body_of(given.target, texts, given.message)).body
    except FileError as problem:
        return said(str(problem), UNEXPECTED, "plan")
    except remote.RemoteError as refused:
        return refusal(refused, given)
    if given.out:
        private_file(given.out).write_text(json.dumps(plan, indent=2), encoding="utf-8")
    options.put(given, plan, lines)
    return PENDING if plan["affected"] else DONE


def body_of(targets: Sequence[str], texts: Sequence[str], message: str) -> dict[str, Any]:
    pairs = zip(targets, texts, strict=True)
    changes = [{"target": target, "source_yaml": text} for target, text in pairs]
    return {"changes": changes, "message": message}


def refusal(refused: remote.RemoteError, given: Namespace) -> int:
    if refused.exit_code != INVALID:
        return said(str(refused), refused.exit_code, "plan")
    if given.output in ("json", "yaml"):
        options.put(given, refused.body, lambda _: ())
        return INVALID
    found = problems_in(refused.body)
    for file, target in zip(given.files, given.target, strict=True):
        about = [one for one in found if len(given.files) == 1 or is_about(one, target)]
        source = text_of(file)
        colour = options.has_colour(given)
        options.say(given, printed.problems(about, file.as_posix(), source, colour=colour))
    return INVALID


def is_about(found: Problem, target: str) -> bool:
    """tenant/orchid and tenant/acme/orchid name the document acme/orchid."""
    name = target.partition("/")[2]
    document = found.document.name if found.document else ""
    return document == name or document.endswith(f"/{name}")


def lines(plan: Mapping[str, Any]) -> Iterator[str]:
    for diff in plan["diff"]:
        yield from diff["unified"]
        yield from diff["summary"]
    for one in plan["affected"]:
        yield ""
        yield f"{one['organisation']}/{one['slug']} (nodes: {one['nodes']})"
        yield from (f"  {sentence}" for sentence in one["sentences"])
    for checked in plan["validation"]:
        for warning in checked["warnings"]:
            yield ""
            yield f"warning[{warning['code']}]: {warning['message']}"
            yield f"{INDENT}{warning['reason']}"
    yield ""
    affected = len(plan["affected"])
    yield f"{affected} tenant{'s' if affected != 1 else ''} affected; plan {plan['uid']}"
