"""The calls that tool outputs answer, as the history tells them: who called what.

A call is often made by the model, and sometimes by a program that the model wrote: what answers
that one is read by running code and must arrive as the tool printed it. All three dialects name
the caller alike, `caller.type`, which is absent or `direct` for the model.
Source: 00-start-here.md 2 (row 24); 03-proxy-and-recovery.md 2.7.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw

from dataplane.core.wire.pieces import NOTHING, text_of
from dataplane.core.wire.spans import STRING, opening

DIRECT = "direct"
UNKNOWN = "unknown"  # a caller that is written in no known way, so perhaps not the model


class _Caller(msgspec.Struct):
    type: str


_string = msgspec.json.Decoder(str)
_caller = msgspec.json.Decoder(_Caller)


class ToolCall(NamedTuple):
    """name: "" where the history does not say. written: the arguments as they stand in the body,
    an object, or the text of one. caller: the type of who made it.
    """

    name: str = ""
    written: Raw = NOTHING
    caller: str = DIRECT

    @property
    def arguments(self) -> bytes:
        """The arguments as JSON; what a custom tool takes is any text."""
        if opening(self.written) == STRING:
            return text_of(self.written).encode("utf-8", "replace")
        return bytes(self.written)

    @property
    def is_by_code(self) -> bool:
        """True when a running program reads what answers it."""
        return self.caller != DIRECT


# By the id of the call; a client may use one again, so the latest before an output counts.
Calls = dict[str, ToolCall]
NOBODYS = ToolCall()


def note(calls: Calls, call_id: Raw, name: Raw, written: Raw, caller: str) -> None:
    """Remember a call of the history, unless it has no id."""
    if known := name_of(call_id):
        calls[known] = ToolCall(name_of(name), written, caller)


def answered(calls: Calls, call_id: str, caller: Raw = NOTHING) -> ToolCall:
    """The call that an output answers. caller: as the output itself names it."""
    found = calls.get(call_id, NOBODYS)
    own = caller_of(caller)
    return found if own == DIRECT else found._replace(caller=own)


def caller_of(caller: Raw) -> str:
    """The type of a caller; DIRECT where none is named."""
    if bytes(caller) == bytes(NOTHING):
        return DIRECT
    try:
        return _caller.decode(caller).type
    except msgspec.DecodeError:
        return UNKNOWN


def name_of(literal: Raw) -> str:
    """A string, "" for anything else."""
    try:
        return _string.decode(literal)
    except (msgspec.DecodeError, UnicodeError):
        return ""
