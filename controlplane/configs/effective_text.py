"""An effective document as YAML in which each line says where its value comes from (04 §3.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dataplane.core.config import spelling
from dataplane.core.config.imposed import Imposed

INDENT = "  "
_ENVELOPE = ("schema_version", "sources")


def as_yaml(
    document: Mapping[str, Any],
    origins: Mapping[str, Mapping[str, Any]],
    imposed: Sequence[Imposed] = (),
) -> str:
    """A valid document of its own; origins: JSON pointer to {layer, name, version, line}.

    imposed: what the environment of the node sets above it, told in front.
    """
    body = {name: value for name, value in document.items() if name not in _ENVELOPE}
    told = [f"# {one} in the environment of the node is above this document" for one in imposed]
    return "".join(f"{line}\n" for line in (*told, *_lines(body, "", 0, origins)))


def _lines(
    block: Mapping[str, Any], path: str, depth: int, origins: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for name, value in block.items():
        at = f"{path}/{name}"
        head = f"{INDENT * depth}{spelling.scalar(name)}:"
        if isinstance(value, dict) and value:
            yield head
            yield from _lines(value, at, depth + 1, origins)
        else:
            said = f"  # {_told(origins[at])}" if at in origins else ""
            yield f"{head} {spelling.flow(value, as_json=False)}{said}"


def _told(origin: Mapping[str, Any]) -> str:
    name = f":{origin['name']}" if origin["name"] else ""
    version = f"@v{origin['version']}" if origin["version"] is not None else ""
    line = f":line {origin['line']}" if origin["line"] is not None else ""
    return f"{origin['layer']}{name}{version}{line}"


def as_json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
