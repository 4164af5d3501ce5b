"""What in a request's body names an object that the provider stored: files, calls, containers, …

Under a key that several tenants share such an object could be another tenant's. One guard for the
three dialects, over the parsed tree and by an allow-list: a member that may hold an id is known to
be about this very body, or it is named. Whatever is not certain counts as named.
Source: 03-proxy-and-recovery.md 1.1 (held-key guard); the providers' published request schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dataplane.core.wire.spans import ARRAY, Span, elements, members, whole

# Top-level members that continue, or stand for, what the account holds.
HISTORY = ("previous_response_id", "conversation")
AT_ONCE = 4 << 20  # bytes given to the parser in one piece, which nobody can interrupt
PATH_MAX = 200
UNREADABLE = "a body that cannot be read with certainty"
LONG = "…"
_OBJECT = ord("{")

# Ids that say which part of this body answers which other one, or that the client gave itself.
_WITHIN_THE_BODY = frozenset(
    {
        "tool_use_id", "tool_call_id", "call_id", "caller_id", "tool_id", "parent_tool_use_id",
        "user_id", "tab_id", "download_id", "approval_request_id",
        "connector_id",  # one of the provider's own constants; its credential comes in the body
    }
)  # fmt: skip
# Members by which an object of the account is named without an id in the name.
_BY_NAME = frozenset({"container", "conversation", "prompt", "thread", "file", "assistant"})
# What an object with an `id` of its own brings along, by its type; without that the id is all there
# is of it, and the provider looks it up.
_BRINGS: dict[str, tuple[str, ...]] = {
    "message": ("content",),
    "tool_use": ("input",),
    "server_tool_use": ("input",),
    "mcp_tool_use": ("input",),
    "function": ("function",),
    "custom": ("custom",),
    "reasoning": ("encrypted_content", "content"),
    "reasoning.text": ("text",),
    "reasoning.summary": ("summary",),
    "reasoning.encrypted": ("data",),
    "compaction": ("encrypted_content",),
    "function_call": ("arguments",),
    "function_call_output": ("output",),
    "custom_tool_call": ("input",),
    "custom_tool_call_output": ("output",),
    "local_shell_call": ("action",),
    "local_shell_call_output": ("output",),
    "shell_call": ("action",),
    "shell_call_output": ("output",),
    "apply_patch_call": ("operation",),
    "apply_patch_call_output": ("status",),
    "computer_call": ("action", "actions"),
    "computer_call_output": ("output",),
    "web_search_call": ("action",),
    "image_generation_call": ("result",),
    "mcp_list_tools": ("tools",),
    "mcp_call": ("arguments",),
    "mcp_approval_request": ("arguments",),
    "tool_search_call": ("arguments",),
    "tool_search_output": ("tools",),
}
_MAY_BE_EMPTY = frozenset({"input", "arguments", "output", "content", "text"})
# An object without a type: a message, or a call in the list of a message's calls.
_OF_A_MESSAGE = ("content", "tool_calls", "function_call", "refusal")
# What the client wrote for its tools and for itself: the provider opens nothing that stands there.
_CLIENTS_OWN = frozenset(
    {
        "input_schema", "input_examples", "parameters", "schema", "output_schema", "metadata",
        "client_metadata", "pending_safety_checks", "acknowledged_safety_checks", "plugins",
    }
)  # fmt: skip
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def named_in(body: bytes) -> str:
    """What the body names of the account's stored objects, as a path; "" for certainly nothing."""
    try:
        top = _tree(body, whole(body))
        if not isinstance(top, dict):
            return UNREADABLE
        asked = frozenset(_approvals_asked(top.get("input")))
        return next(_named(top, "", "", asked), "")[:PATH_MAX]
    except (ValueError, RecursionError):
        return UNREADABLE


def _tree(body: bytes, span: Span) -> Any:
    """The value there, LONG for a text that is itself so large.

    Raises ValueError for a member named twice: parsers disagree about which of the two counts.
    """
    if span.end - span.start <= AT_ONCE:
        text = body[span.start : span.end].decode()
        return json.loads(text, object_pairs_hook=_once, parse_int=len, parse_float=len)
    if body[span.start] == _OBJECT:
        found = members(body, span)
        return {name: _tree(body, member.value) for name, member in found.items()}
    if body[span.start] == ARRAY:
        return [_tree(body, element) for element in elements(body, span)]
    return LONG


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def _approvals_asked(items: Any) -> Iterator[str]:
    """The ids of requests for approval that stand in the body itself."""
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("type") == "mcp_approval_request":
            yield str(item.get("id"))


def _named(value: Any, path: str, place: str, asked: frozenset[str]) -> Iterator[str]:
    """place: the name of the member that holds the value, or the list in which it stands."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _named(each, f"{path}[{index}]", place, asked)
    elif isinstance(value, dict):
        kind = _kind(value)
        for name, inside in value.items():
            if name in _CLIENTS_OWN or (name == "input" and kind in _CALLS):
                continue
            at = f"{path}.{name}" if path else name
            if _is_reference(name, inside, value, place) or (
                name == "approval_request_id" and str(inside) not in asked
            ):
                yield at
            yield from _named(inside, at, name, asked)


def _is_reference(name: str, inside: Any, around: dict[str, Any], place: str) -> bool:
    if inside is None or inside in ("", []):
        return False
    if name == "id":
        return not _brings_its_content(around, place)
    if name.endswith(("_id", "_ids")):
        is_the_providers = name == "skill_id" and around.get("type") == "anthropic"
        return name not in _WITHIN_THE_BODY and not is_the_providers
    # As an object it is judged by what it holds: a new container, a file that comes along.
    return name in _BY_NAME and isinstance(inside, str)


def _brings_its_content(item: dict[str, Any], place: str) -> bool:
    kind = _kind(item)
    if kind is not None:
        brought = _BRINGS.get(kind, ())
    elif place == "tool_calls":
        brought = ("function", "custom")
    else:
        brought = _OF_A_MESSAGE if "role" in item else ()
    return any(
        item.get(name) or (name in _MAY_BE_EMPTY and item.get(name) in ("", {})) for name in brought
    )


def _kind(item: dict[str, Any]) -> str | None:
    kind = item.get("type")
    return None if kind is None else str(kind)
