"""The model's turn in the OpenAI Responses dialect: read, echoed and answered.

Source: 03-proxy-and-recovery.md 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from msgspec import Raw

from dataplane.core.expand.raw import array_of, marker_id_in, members_of, object_of
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply, reply_of
from dataplane.core.tools.tool import is_injected
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


class ItemHead(msgspec.Struct):
    """What an output item is. Programs write null for members that have no value."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None

    @property
    def is_ours(self) -> bool:
        """A call of a tool that the gateway answers itself."""
        return self.type == _CALL and is_injected(self.name or "")

    @property
    def is_for_the_client(self) -> bool:
        return not self.is_ours and self.type not in _NEEDS_NO_ANSWER

    @property
    def is_kept_nowhere(self) -> bool:
        """Reasoning that only the provider's own store could hold."""
        return self.type == _REASONING and not self.encrypted_content

    @property
    def call(self) -> Call | None:
        """The call that this item is; None for one without an id. Whether it was cut is said by
        the status of the response, so arguments that nobody can read name no marker.
        """
        try:
            wanted = marker_id_in((self.arguments or "{}").encode())
        except _ERRORS:
            wanted = None
        return Call(self.call_id, self.name or "", wanted) if self.call_id else None


class _Response(msgspec.Struct):
    output: list[Raw]


_response = msgspec.json.Decoder(_Response)
_head = msgspec.json.Decoder(ItemHead)
_items = msgspec.json.Decoder(list[Raw])
UNKNOWN = ItemHead()


def head_of(item: bytes) -> ItemHead:
    """UNKNOWN for what is no object, or has members of other types."""
    try:
        return _head.decode(item)
    except _ERRORS:
        return UNKNOWN


def is_ours(item: bytes) -> bool:
    """Whether an output item, or a declared tool, is one of the gateway's."""
    head = head_of(item)
    return head.is_ours or (head.type == "function" and is_injected(head.name or ""))


def without_ours(items: Sequence[bytes]) -> list[bytes]:
    """The items, or the declared tools, that are none of the gateway's."""
    return [item for item in items if not is_ours(item)]


def from_body(body: bytes) -> Reply:
    """The turn of a response that came as one JSON body."""
    try:
        return from_items(items_of(body))
    except _ERRORS:
        return UNREADABLE_REPLY


def items_of(body: bytes) -> list[bytes]:
    """The output items of a response. Raises msgspec.DecodeError."""
    return [bytes(item) for item in _response.decode(body).output]


def from_items(written: Sequence[bytes]) -> Reply:
    """The turn that consists of these output items."""
    items = [head_of(item) for item in written]
    ours = [item for item in items if item.is_ours]
    reply = reply_of(
        [item.call for item in ours],
        b",".join(written),
        others=any(item.is_for_the_client for item in items),
    )
    return replace(reply, needs_store=any(item.is_kept_nowhere for item in items))


def without_what_nobody_kept(reply: Reply) -> Reply:
    """The turn as a provider that stored nothing takes it back: without the reasoning that only
    its own store could hold, and without the ids by which it would miss that reasoning.
    """
    items = _items.decode(array_of([reply.assistant]))
    kept = [item for item in map(bytes, items) if not head_of(item).is_kept_nowhere]
    return replace(reply, assistant=b",".join(map(_without_id, kept)))


def _without_id(item: bytes) -> bytes:
    return object_of({name: value for name, value in members_of(item).items() if name != "id"})


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
