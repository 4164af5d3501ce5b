"""Which prompt-cache lineage of a session a request continues, told by its own history.

Sub-agents share the session of the agent that started them. Taken for its turns, their short
transcripts would look like compactions and the cached prefix would be lost sight of.
Source: 03-proxy-and-recovery.md 2.4.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

import msgspec

from dataplane.core.expand.raw import members_of
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.spans import ARRAY, STRING
from dataplane.core.wire.splice import string_literal

MAIN = ""
KEPT_THREADS = 64
KEPT_SESSIONS = 20_000
STALE_S = 2 * 3600
_DIGEST_BYTES = 8
_NAME_LENGTH = 12
_DROPPED = frozenset({"cache_control", "cachePoint", "thinking", "reasoning", "reasoning_content"})
_THOUGHTS = frozenset({b'"thinking"', b'"redacted_thinking"', b'"reasoning"'})
_TOOL = b'"tool"'
_RESULTS = frozenset({b'"tool_result"', b'"function_call_output"', b'"custom_tool_call_output"'})
_blocks = msgspec.json.Decoder(list[msgspec.Raw])


class Prints(NamedTuple):
    """Cumulative fingerprints of a message list. head: up to its first user message."""

    all: tuple[bytes, ...] = ()
    head: bytes = b""


@dataclass(slots=True)
class _Thread:
    """A lineage as its latest turn left it. at: seconds."""

    head: bytes
    last: bytes
    at: float


@dataclass(slots=True)
class _Session:
    threads: OrderedDict[str, _Thread] = field(default_factory=OrderedDict)


class Lineages:
    """The lineages of all sessions that this process has seen lately."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()
        self._lock = Lock()  # large bodies are shaped in threads of their own

    def thread(self, session: str, prints: Prints, *, tenant: str, at: float) -> str:
        """The name of the lineage that a request continues or begins. at: seconds."""
        with self._lock:
            return self._thread(tenant, session, prints, at)

    def _thread(self, tenant: str, session: str, prints: Prints, at: float) -> str:
        known = self._sessions.setdefault((tenant, session), _Session())
        self._sessions.move_to_end((tenant, session))
        while len(self._sessions) > KEPT_SESSIONS:
            self._sessions.popitem(last=False)
        _drop_stale(known.threads, at)
        name = _continued(known.threads, prints)
        if name is None:
            name = _name(prints) if known.threads else MAIN
        last = prints.all[-1] if prints.all else b""
        known.threads[name] = _Thread(prints.head, last, at)
        known.threads.move_to_end(name)
        while len(known.threads) > KEPT_THREADS:
            del known.threads[next(each for each in known.threads if each != MAIN)]
        return name


def _continued(threads: OrderedDict[str, _Thread], prints: Prints) -> str | None:
    """The lineage whose latest turn is the longest beginning of this one; else the latest that
    began as this one does, for an agent may shorten or rewrite its own history.
    """
    places = {each: number for number, each in enumerate(prints.all)}
    grown = [name for name, thread in threads.items() if thread.last in places]
    if grown:
        return max(grown, key=lambda name: places[threads[name].last])
    alike = [name for name, thread in threads.items() if thread.head == prints.head]
    return alike[-1] if alike else None


def _drop_stale(threads: OrderedDict[str, _Thread], at: float) -> None:
    stale = [name for name, each in threads.items() if name != MAIN and at - each.at > STALE_S]
    for name in stale:
        del threads[name]


def _name(prints: Prints) -> str:
    return "p:" + hashlib.sha256(prints.head).hexdigest()[:_NAME_LENGTH]


def prints_of(conversation: Conversation) -> Prints:
    """The fingerprints of the body's own messages, one per message.

    Cache marks, thoughts and what tools answered are left out: agents move, drop and shorten
    them from turn to turn. Everything else counts as it is written, members in any order.
    """
    body = memoryview(conversation.body)
    found: list[bytes] = []
    head = running = b""
    for span in conversation.elements:
        written = body[span.start : span.end]
        members = _members(written)
        stated = bytes(written) if members is None else _bare(members)
        running = hashlib.blake2b(running + stated, digest_size=_DIGEST_BYTES).digest()
        found.append(running)
        if not head and members is not None and members.get("role") == b'"user"':
            head = running
    return Prints(tuple(found), head or (found[0] if found else b""))


def _members(written: memoryview | bytes) -> dict[str, bytes] | None:
    try:
        return members_of(written)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _bare(members: dict[str, bytes]) -> bytes:
    """A message or block without what may change from turn to turn; b"" for a mere thought."""
    kind = members.get("type")
    if kind in _THOUGHTS:
        return b""
    dropped = _DROPPED
    if members.get("role") == _TOOL or kind in _RESULTS:
        dropped |= {"content", "output"}
    kept = sorted(name for name in members if name not in dropped)
    return b"".join(
        string_literal(name) + (_content(members[name]) if name == "content" else members[name])
        for name in kept
    )


def _content(written: bytes) -> bytes:
    """The content of a message; a text stands for the one block that holds it."""
    if written[0] == STRING:
        return _bare({"type": b'"text"', "text": written})
    if written[0] != ARRAY:
        return written
    try:
        blocks = [bytes(block) for block in _blocks.decode(written)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return written
    parts = ((block, _members(block)) for block in blocks)
    return b"".join(block if inner is None else _bare(inner) for block, inner in parts)
