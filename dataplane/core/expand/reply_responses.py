"""The model's turn in the OpenAI Responses dialect: read, echoed and answered.

Source: 03-proxy-and-recovery.md 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from dataplane.core.expand.raw import marker_id_in, object_of
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply
from dataplane.core.expand.tool import is_injected
from dataplane.core.wire.splice import string_literal

_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError)
_CALL, _REASONING = "function_call", "reasoning"
# Items that ask nothing of the client; any other may be a call that only it can answer.
_NEEDS_NO_ANSWER = frozenset(
    {
        "message",
        _REASONING,
        "compaction",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
    }
)


class _Item(msgspec.Struct):
    type: str = ""
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    encrypted_content: str | None = None


class _Response(msgspec.Struct):
    output: list[Raw]


_response = msgspec.json.Decoder(_Response)
_item = msgspec.json.Decoder(_Item)


def from_body(body: bytes) -> Reply:
    """The turn of a response that came as one JSON body."""
    try:
        written = [bytes(item) for item in _response.decode(body).output]
        return _reply(written, [_item.decode(item) for item in written])
    except _ERRORS:
        return UNREADABLE_REPLY


def continuation(reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
    """The echoed output items and one output per call."""
    return (reply.assistant, *(_call_output(result) for result in results))


def _call_output(result: ToolResult) -> bytes:
    return object_of(
        {
            "type": b'"function_call_output"',
            "call_id": string_literal(result.call_id),
            "output": string_literal(result.text),
        }
    )


def _is_ours(item: _Item) -> bool:
    return item.type == _CALL and is_injected(item.name)


def _reply(written: list[bytes], items: list[_Item]) -> Reply:
    ours = [item for item in items if _is_ours(item)]
    others = [item for item in items if not _is_ours(item) and item.type not in _NEEDS_NO_ANSWER]
    calls = tuple(
        Call(item.call_id, item.name, marker_id_in(item.arguments.encode() or b"{}"))
        for item in ours
    )
    return Reply(
        calls,
        b",".join(written),
        answerable=not ours or (not others and all(item.call_id for item in ours)),
        needs_store=any(item.type == _REASONING and not item.encrypted_content for item in items),
    )
