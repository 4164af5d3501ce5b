"""headrace preset list|show|clone|promote|usage: the presets of a deployment."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controlplane.cli import options, remote
from controlplane.cli.exits import DONE, Parser
from controlplane.cli.validate import said


def main(arguments: Sequence[str]) -> int:
    parser = Parser(prog="headrace preset", description=__doc__)
    deeds = parser.add_subparsers(dest="deed", required=True)
    for deed in ("list", "show", "clone", "promote", "usage"):
        below = deeds.add_parser(deed)
        options.add(below)
        if deed != "list":
            below.add_argument("name")
    deeds.choices["clone"].add_argument("new_name")
    deeds.choices["clone"].add_argument("--organisation", required=True)
    deeds.choices["promote"].add_argument("--version", type=int, required=True)
    deeds.choices["promote"].add_argument("--message", required=True)
    given = parser.parse_args(arguments)
    options.take(given)
    try:
        found = DEEDS[given.deed](given)
    except remote.RemoteError as refused:
        return said(str(refused), refused.exit_code, "preset")
    options.put(given, found, SHOWN[given.deed])
    return DONE


def listed(_given: Namespace) -> Any:
    return remote.call("GET", "/presets").body


def shown(given: Namespace) -> Any:
    return remote.call("GET", f"/presets/{remote.named(given.name)}").body


def cloned(given: Namespace) -> Any:
    body = {"organisation": given.organisation, "name": given.new_name}
    return remote.call("POST", f"/presets/{remote.named(given.name)}/clone", body).body


def promoted(given: Namespace) -> Any:
    """Based on what is there now: whoever promotes names the version that they mean."""
    path = f"/presets/{remote.named(given.name)}"
    etag = remote.call("GET", path).etag
    body = {"version": given.version, "message": given.message}
    return remote.call("POST", f"{path}/promote", body, If_Match=etag).body


def used(given: Namespace) -> Any:
    return remote.call("GET", f"/presets/{remote.named(given.name)}/usage").body


def rows(found: Mapping[str, Any]) -> Iterator[str]:
    for one in found["items"]:
        place = one["organisation"] or "packaged"
        yield f"{one['name']:<24} v{one['version']:<4} {place:<16} {', '.join(one['pipeline'])}"


def text(found: Mapping[str, Any]) -> Iterator[str]:
    yield found["source_yaml"].rstrip("\n")


def state(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['name']} v{found['version']}"


def users(found: Mapping[str, Any]) -> Iterator[str]:
    for one in found["users"]:
        via = f" via {one['via']}" if one["via"] else ""
        yield f"{one['kind']} {one['name']}: {one['reference']}{via}"
    yield f"{found['following']} following, {found['pinned']} pinned"


DEEDS = {"list": listed, "show": shown, "clone": cloned, "promote": promoted, "usage": used}
SHOWN = {"list": rows, "show": text, "clone": state, "promote": state, "usage": users}
