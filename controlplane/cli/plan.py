"""headrace plan: try a change out and print what it would do; nothing live is touched."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.cli import printed, remote
from controlplane.cli.exits import DONE, INVALID, PENDING, UNEXPECTED
from controlplane.cli.validate import problems_in, said


def main(arguments: Sequence[str]) -> int:
    """Exit code 2 when something would change, 0 when nothing would, 3 on errors."""
    parser = ArgumentParser(prog="headrace plan", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--target", action="append", required=True, help="one for each file")
    parser.add_argument("--message", default="Planned on the command line")
    parser.add_argument("--out", type=Path, metavar="plan.json", help="keep the plan here")
    parser.add_argument("--output", choices=["text", "json"], default="text")
    given = parser.parse_args(arguments)
    if len(given.files) != len(given.target):
        return said("Give one --target for each file.", UNEXPECTED, "plan")
    try:
        texts = [file.read_text(encoding="utf-8") for file in given.files]
        plan = remote.call("POST", "/plans", body_of(given.target, texts, given.message)).body
    except (OSError, UnicodeDecodeError) as problem:
        return said(str(problem), UNEXPECTED, "plan")
    except remote.RemoteError as refused:
        return refusal(refused, given.files)
    if given.out:
        given.out.write_text(json.dumps(plan, indent=2), encoding="utf-8")
    as_json = given.output == "json"
    print(json.dumps(plan, indent=2) if as_json else "\n".join(lines(plan)))  # noqa: T201
    return PENDING if plan["affected"] else DONE


def body_of(targets: Sequence[str], texts: Sequence[str], message: str) -> dict[str, Any]:
    pairs = zip(targets, texts, strict=True)
    changes = [{"target": target, "source_yaml": text} for target, text in pairs]
    return {"changes": changes, "message": message}


def refusal(refused: remote.RemoteError, files: Sequence[Path]) -> int:
    if refused.exit_code != INVALID:
        return said(str(refused), refused.exit_code, "plan")
    file = files[0].as_posix() if len(files) == 1 else "document"
    source = files[0].read_text(encoding="utf-8") if len(files) == 1 else ""
    print(printed.problems(problems_in(refused.body), file, source))  # noqa: T201
    return INVALID


def lines(plan: Mapping[str, Any]) -> Iterator[str]:
    for diff in plan["diff"]:
        yield from diff["unified"]
        yield from diff["summary"]
    for one in plan["affected"]:
        yield ""
        yield f"{one['organisation']}/{one['slug']} (nodes: {one['nodes']})"
        yield from (f"  {sentence}" for sentence in one["sentences"])
    yield ""
    yield f"{len(plan['affected'])} tenants affected; plan {plan['uid']}"
