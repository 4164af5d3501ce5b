"""The assistant's turn in the OpenAI chat dialect: read, echoed and answered.

Source: 03-proxy-and-recovery.md 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw

from dataplane.core.expand.facts import DONE
from dataplane.core.expand.raw import NULL, array_of, joined, marker_id_in, members_of, object_of
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply
from dataplane.core.expand.tool import is_injected
from dataplane.core.wire.splice import string_literal
from dataplane.core.wire.sse import SseEvent

_ERRORS = (msgspec.DecodeError, UnicodeError, KeyError, RecursionError)
_ABSENT = Raw(b"")


class _Function(msgspec.Struct):
    name: str = ""
    arguments: str = ""


class _ToolCall(msgspec.Struct):
    id: str = ""
    type: str = "function"
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    """A message of a body, or the delta of a chunk."""

    content: Raw = _ABSENT
    refusal: Raw = _ABSENT
    tool_calls: list[Raw] | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    delta: _Message | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None


_completion = msgspec.json.Decoder(_Completion)
_tool_call = msgspec.json.Decoder(_ToolCall)


def from_body(body: bytes) -> Reply:
    """The turn of a completion that came as one JSON body; with several choices there is none."""
    try:
        choices = _completion.decode(body).choices or []
        if len(choices) != 1:
            return UNREADABLE_REPLY
        message = choices[0].message or _Message()
        calls = [bytes(call) for call in message.tool_calls or ()]
        return _reply(calls, content=bytes(message.content), refusal=bytes(message.refusal))
    except _ERRORS:
        return UNREADABLE_REPLY


def from_events(events: Iterable[SseEvent]) -> Reply:
    """The turn of one complete stream of a single choice."""
    try:
        deltas = list(_deltas(events))
        return _reply(
            _collected(deltas),
            content=_text([bytes(delta.content) for delta in deltas]),
            refusal=_text([bytes(delta.refusal) for delta in deltas]),
        )
    except _ERRORS:
        return UNREADABLE_REPLY


def continuation(reply: Reply, results: Sequence[ToolResult]) -> tuple[bytes, ...]:
    """The echoed turn and one tool message per call."""
    return (reply.assistant, *(_tool_message(result) for result in results))


def _tool_message(result: ToolResult) -> bytes:
    return object_of(
        {
            "role": b'"tool"',
            "tool_call_id": string_literal(result.call_id),
            "content": string_literal(result.text),
        }
    )


def _reply(tool_calls: list[bytes], *, content: bytes, refusal: bytes) -> Reply:
    seen = [_tool_call.decode(call) for call in tool_calls]
    ours = [call for call in seen if is_injected(call.function.name)]
    calls = tuple(
        Call(call.id, call.function.name, marker_id_in(call.function.arguments.encode() or b"{}"))
        for call in ours
    )
    members = {"role": b'"assistant"', "content": content or NULL}
    if refusal not in (b"", NULL):
        members["refusal"] = refusal
    members["tool_calls"] = array_of(tool_calls)
    answerable = not ours or (len(ours) == len(seen) and all(call.id for call in ours))
    return Reply(calls, object_of(members), answerable)


def _deltas(events: Iterable[SseEvent]) -> Iterable[_Message]:
    for event in events:
        if event.data and event.data != DONE:
            for choice in _completion.decode(event.data).choices or ():
                if choice.delta is not None:
                    yield choice.delta


def _text(literals: list[bytes]) -> bytes:
    """The joined text, null when no delta carried any."""
    return joined(literals) if any(literal not in (b"", NULL) for literal in literals) else NULL


def _collected(deltas: Iterable[_Message]) -> list[bytes]:
    """Whole tool calls out of their pieces, by index."""
    calls: dict[bytes, _StreamedCall] = {}
    for delta in deltas:
        for piece in delta.tool_calls or ():
            members = members_of(piece)
            index = members.pop("index", b"0")
            calls.setdefault(index, _StreamedCall()).add(members)
    return [call.written() for call in calls.values()]


class _StreamedCall:
    """A tool call whose arguments arrive in pieces, everything else in the first one."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}
        self._function: dict[str, bytes] = {}
        self._arguments: list[bytes] = []

    def add(self, members: dict[str, bytes]) -> None:
        function = members_of(members.pop("function", b"{}"))
        self._arguments.append(function.pop("arguments", b""))
        for known, more in ((self._members, members), (self._function, function)):
            known.update({name: value for name, value in more.items() if value != NULL})

    def written(self) -> bytes:
        function = {**self._function, "arguments": joined(self._arguments)}
        return object_of({"type": b'"function"', **self._members, "function": object_of(function)})
