"""Which prompt-cache lineage of a session a request continues, told by its own history.

Sub-agents share the session of the agent that started them. Taken for its turns, their short
transcripts would look like compactions and the cached prefix would be lost sight of.
Source: 03-proxy-and-recovery.md 2.4.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from dataplane.core.wire.message import Message, Role

MAIN = ""
KEPT_THREADS = 64
KEPT_SESSIONS = 20_000
STALE_S = 2 * 3600
_DIGEST_BYTES = 8
_NAME_LENGTH = 12


# How agents begin the message in which their summary stands, once it has taken the place of what
# it sums up: Claude Code 2.1 and Codex 0.171, each with the key of its session unchanged.
# opencode 1.18 asks this before its summary.
SUMMARIES = (
    b"This session is being continued from a previous conversation",
    b"Another language model started to solve this problem and produced a summary",
    b"What did we do so far?",
)


class Prints(NamedTuple):
    """Cumulative fingerprints of a message list. head: up to its first user message. anew: it goes
    on from a summary of what came before.
    """

    all: tuple[bytes, ...] = ()
    head: bytes = b""
    anew: bool = False


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
        key = (tenant, session)
        known = self._sessions.get(key)
        if known is None:
            known = self._sessions[key] = _Session()
        self._sessions.move_to_end(key)
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
    began as this one does, for an agent may shorten or rewrite its own history; else, where a
    summary stands for that history, the one that was summed up.
    """
    latest: dict[bytes, str] = {}
    for name, thread in threads.items():
        latest.setdefault(thread.last, name)
    for each in reversed(prints.all):
        if each in latest:
            return latest[each]
    alike = [name for name, thread in threads.items() if thread.head == prints.head]
    if not alike and prints.anew:
        return _summed_up(threads)
    return alike[-1] if alike else None


def _summed_up(threads: OrderedDict[str, _Thread]) -> str | None:
    """The one that was heard last. One message may ask for a title of a conversation, or for its
    summary with all of it inside: such a thread has no history, so another one comes first.
    """
    latest = list(reversed(threads))
    grown = (name for name in latest if threads[name].last != threads[name].head)
    return next(grown, latest[0] if latest else None)


def _drop_stale(threads: OrderedDict[str, _Thread], at: float) -> None:
    stale = [name for name, each in threads.items() if name != MAIN and at - each.at > STALE_S]
    for name in stale:
        del threads[name]


def _name(prints: Prints) -> str:
    return "p:" + hashlib.sha256(prints.head).hexdigest()[:_NAME_LENGTH]


def prints_of(messages: Sequence[Message]) -> Prints:
    """The fingerprints of a request's messages, one per message.

    A message counts by its role and text, a tool output by the call that it answers: cache marks,
    thoughts and what tools answered are moved, dropped and shortened from turn to turn.
    """
    found: list[bytes] = []
    head = running = b""
    anew = False
    for message in messages:
        said = message.call_id.encode() if message.role is Role.TOOL else message.content.digest
        stated = running + message.role.encode() + said
        running = hashlib.blake2b(stated, digest_size=_DIGEST_BYTES).digest()
        found.append(running)
        anew = anew or message.sums_up
        if message.role is Role.USER:
            head = head or running
            anew = anew or message.content.utf8.startswith(SUMMARIES)
    return Prints(tuple(found), head or (found[0] if found else b""), anew)
