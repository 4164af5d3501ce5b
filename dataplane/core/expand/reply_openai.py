"""The assistant's turn in the OpenAI chat dialect: read, echoed and answered.

Source: 03-proxy-and-recovery.md 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from dataplane.core.expand.chat_calls import CallPlaces, pieces_of
from dataplane.core.expand.facts import DONE
from dataplane.core.expand.raw import (
    NULL,
    array_of,
    joined,
    marker_id_in,
    members_of,
    merged,
    object_of,
)
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.expand.rounds import UNREADABLE_REPLY, Reply, reply_of
from dataplane.core.tools.tool import is_injected
from dataplane.core.wire.splice import string_literal
from dataplane.core.wire.sse import SseEvent

_ERRORS = (msgspec.DecodeError, UnicodeError, KeyError, RecursionError)
_ABSENT = Raw(b"")
_NOTHING = (NULL, b'""')


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    id: str | None = None
    function: _Function = msgspec.field(default_factory=_Function)

    @property
    def name(self) -> str:
        return self.function.name or ""


class _Choice(msgspec.Struct):
    message: Raw = _ABSENT
    delta: Raw = _ABSENT


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None


_completion = msgspec.json.Decoder(_Completion)
_tool_call = msgspec.json.Decoder(_ToolCall)
_list = msgspec.json.Decoder(list[Raw] | None)
_CALLS = "tool_calls"
_ECHOED_APART = frozenset({"role", "content", _CALLS, "audio"})


def from_body(body: bytes) -> Reply:
    """The turn of a completion that came as one JSON body; several choices are no turn."""
    try:
        messages = messages_of(body)
        if len(messages) == 1:
            return _reply(messages[0], calls_in(messages[0]))
        asked = any(is_ours(call) for message in messages for call in calls_in(message))
        return UNREADABLE_REPLY if asked else Reply(())
    except _ERRORS:
        return UNREADABLE_REPLY


def from_events(events: Iterable[SseEvent]) -> Reply:
    """The turn of one complete stream of a single choice."""
    try:
        deltas = list(_deltas(events))
        calls = _collected([delta.pop(_CALLS, NULL) for delta in deltas])
        return _reply(merged(deltas), calls)
    except _ERRORS:
        return UNREADABLE_REPLY


def messages_of(body: bytes) -> list[dict[str, bytes]]:
    """The members of every choice's message. Raises msgspec.DecodeError."""
    choices = _completion.decode(body).choices or ()
    return [_members(choice.message) for choice in choices]


def calls_in(message: Mapping[str, bytes]) -> list[bytes]:
    """The tool calls of a message. Raises msgspec.DecodeError."""
    return [bytes(call) for call in _list.decode(message.get(_CALLS, NULL)) or ()]


def is_ours(call: bytes) -> bool:
    """Whether a tool call is one of a tool that the gateway answers itself."""
    return any(is_injected(piece.name) for piece in pieces_of(array_of([call])))


def _members(written: Raw) -> dict[str, bytes]:
    found = bytes(written)
    return {} if found in (b"", NULL) else members_of(found)


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


def _reply(message: Mapping[str, bytes], calls: list[bytes]) -> Reply:
    seen = [_tool_call.decode(call) for call in calls]
    ours = [call for call in seen if is_injected(call.name)]
    return reply_of(
        [_call(call) for call in ours],
        object_of({**_echoed(message), _CALLS: array_of(calls)}),
        others=len(ours) < len(seen),
    )


def _echoed(message: Mapping[str, bytes]) -> dict[str, bytes]:
    """What the model said, as it said it, members that nobody here knows included.

    Providers demand their own back (reasoning_content, reasoning_details, annotations, ...) and
    none refuses what it said itself, but for nulls and empty lists, which say nothing. Spoken
    answers are named by their id.
    """
    content = message.get("content", NULL)
    if content[:1] not in (b'"', b"[", NULL[:1]):
        raise msgspec.DecodeError("the content is no text")
    found = {"role": b'"assistant"', "content": content}
    for name, value in message.items():
        if name not in _ECHOED_APART and value not in (NULL, b"[]"):
            found[name] = value
    spoken = message.get("audio", NULL)
    if spoken != NULL:
        found["audio"] = object_of({"id": members_of(spoken)["id"]})
    return found


def _call(call: _ToolCall) -> Call | None:
    try:
        wanted = marker_id_in((call.function.arguments or "{}").encode())
    except _ERRORS:
        return None
    return Call(call.id, call.name, wanted) if call.id else None


def _deltas(events: Iterable[SseEvent]) -> Iterable[dict[str, bytes]]:
    for event in events:
        if event.data and event.data != DONE:
            for choice in _completion.decode(event.data).choices or ():
                delta = _members(choice.delta)
                delta.pop("role", None)
                yield delta


def _collected(pieces: Iterable[bytes]) -> list[bytes]:
    """Whole tool calls out of their pieces."""
    calls: dict[int, _StreamedCall] = {}
    places = CallPlaces()
    for listed in pieces:
        written = [bytes(piece) for piece in _list.decode(listed) or ()]
        for piece, told in zip(written, pieces_of(listed), strict=True):
            members = members_of(piece)
            members.pop("index", None)
            calls.setdefault(places.place(told), _StreamedCall()).add(members)
    return [call.written() for call in calls.values()]


class _StreamedCall:
    """A tool call whose arguments arrive in pieces, everything else in the first one."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}
        self._function: dict[str, bytes] = {}
        self._arguments: list[bytes] = []

    def add(self, members: dict[str, bytes]) -> None:
        written = members.pop("function", NULL)
        function = {} if written == NULL else members_of(written)
        self._arguments.append(function.pop("arguments", b""))
        for known, more in ((self._members, members), (self._function, function)):
            known.update({name: value for name, value in more.items() if value not in _NOTHING})

    def written(self) -> bytes:
        function = {**self._function, "arguments": joined(self._arguments)}
        return object_of({"type": b'"function"', **self._members, "function": object_of(function)})
