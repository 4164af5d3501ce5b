"""Whether a Responses body names something that the provider stored earlier.

Under a key that several tenants share such a name could be another tenant's. Whatever is not
certain counts as named. Source: 03-proxy-and-recovery.md 1.1 (held-key guard).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from dataplane.core.wire.spans import UnparseableError, outline

# Top-level members that continue, or stand for, what the account holds.
HISTORY = ("previous_response_id", "conversation")
_TOP_LEVEL = (*HISTORY, "prompt")
# A body without any of these, and without a letter spelt as an escape, names nothing further in.
_SUSPICIOUS = re.compile(
    rb'item_reference|file_id|vector_store_ids|container|"id"|\\u00(?:[46][1-9a-fA-F]|[57][0-9a-fA])'
)


def may_be_named(body: bytes) -> bool:
    """True unless it is certain that a Responses body names nothing that the provider stored."""
    try:
        top, _ = outline(body)
    except UnparseableError:
        return True
    found = (top[name].value for name in _TOP_LEVEL if name in top)
    if any(body[value.start : value.end] != b"null" for value in found):
        return True
    return _SUSPICIOUS.search(body) is not None and _is_named_inside(body)


def _is_named_inside(body: bytes) -> bool:
    try:
        top = json.loads(
            body, object_pairs_hook=_once, parse_int=len, parse_float=len, parse_constant=len
        )
    except (ValueError, RecursionError):
        return True
    return any(map(_is_reference, _objects(top.get("input")))) or any(
        map(_is_tool_with_state, _objects(top.get("tools")))
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object. ValueError for one named twice: parsers disagree which counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (
        (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())
    )


def _is_reference(item: dict[str, Any]) -> bool:
    """An item that stands for a stored one, also without its type, or that holds a stored file."""
    kind = item.get("type")
    if kind == "item_reference" or (kind is None and "role" not in item):
        return True
    parts = (*_objects(item.get("content")), *_objects(item.get("output")), item)
    return any(part.get("file_id") is not None for part in parts)


def _is_tool_with_state(tool: dict[str, Any]) -> bool:
    """A tool of the provider that works on stored files, or in a container that lives on."""
    container = tool.get("container")
    files = container.get("file_ids") if isinstance(container, dict) else container
    return bool(files) or bool(tool.get("vector_store_ids"))
