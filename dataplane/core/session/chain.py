"""Conversations that the provider holds: by which names the client knows what it may continue.

A hidden round of a stored response is another response to the provider, so the id that a client was
shown first is not the one that can be continued. What has to be remembered of that is kept where
originals are: durable, owned, sealed, purged and forgotten like one, under the digest of the name.
Source: 00-start-here.md 2 (row 26); ADR 0027.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from dataplane.core.effects import (
    Commit,
    Committed,
    Core,
    Found,
    Payload,
    Recall,
    Recalled,
    Scope,
)
from dataplane.core.expand.relay import Call
from dataplane.core.session.naming import Identity
from dataplane.core.wire.message import Conversation, Dialect, Role
from dataplane.core.wire.splice import Edit, splice, string_literal

_PLACE_CHARS = 24
CALLS_MAX = 16  # looked up on one request


class Link(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a name stands for.

    ended: the response to go on with, for the one that was shown. session, thread: whose turn it
    was. call: the tool of ours that was called, marker_id: and what it asked for, for a call that
    the client has to answer.
    """

    ended: str = ""
    session: str = ""
    thread: str = ""
    call: str = ""
    marker_id: str | None = None


_link = msgspec.json.Decoder(Link)
_conversation = msgspec.json.Decoder(str | dict[str, msgspec.Raw])
_string = msgspec.json.Decoder(str)
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


def place_of(name: str) -> str:
    """Where the link of a name is kept. It has the shape of a marker's id and is none."""
    return hashlib.sha256(b"link\x00" + name.encode("utf-8", "replace")).hexdigest()[:_PLACE_CHARS]


@dataclass(frozen=True, slots=True)
class Chain:
    """A request's place in a conversation that the provider holds.

    previous, conversation: the ids by which the client goes on, "" where it does not. link: of
    what it goes on with. calls: of ours, by their ids, that the body answers and the provider
    holds. stores: the provider keeps the answer.
    """

    previous: str = ""
    conversation: str = ""
    link: Link | None = None
    calls: Mapping[str, Call] = field(default_factory=dict)
    stores: bool = False

    @property
    def is_partial(self) -> bool:
        """Only a part of the conversation is in the body."""
        return bool(self.previous or self.conversation)

    @property
    def collects(self) -> bool:
        """The provider adds to the conversation what is sent and what is answered."""
        return bool(self.conversation) and self.stores

    @property
    def renamed(self) -> tuple[str, str] | None:
        """The response that is gone on with: its own id, and the one that the client knows."""
        ended = self.link.ended if self.link is not None else ""
        return (
            (ended, self.previous) if self.previous and ended not in {"", self.previous} else None
        )

    def owner(self, identity: Identity) -> Identity:
        """Whose turn the request is: a part of a conversation does not say how that began."""
        link = self.link
        if link is None or not link.session:
            return identity
        if identity.alias and identity.session != link.session:  # it says so itself
            return identity
        return identity._replace(session=link.session, thread=identity.thread or link.thread)

    def is_owners(self, identity: Identity) -> bool:
        """The thread of the turn is known, too."""
        return self.link is not None and identity.session == self.link.session

    def links(self, shown: str, link: Link, calls: Sequence[Call]) -> list[tuple[str, Link]]:
        """What is to be kept of the answer. shown: its id for the client. calls: of ours that the
        client has to answer.
        """
        handed = [(call.call_id, Link(call=call.name, marker_id=call.marker_id)) for call in calls]
        named = [(self.conversation, msgspec.structs.replace(link, ended=""))]
        return [(shown, link), *(named if self.conversation else ()), *handed]


ALONE = Chain()


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for links, and at which time (s). shared: those of any key of the tenant count."""

    scope: Scope
    at: float
    shared: bool = False


def joined(asker: Asker, conversation: Conversation) -> Core[Chain]:
    """Look up what is known of the conversation that a request goes on with."""
    if conversation.dialect is not Dialect.OPENAI_RESPONSES:
        return ALONE
    previous, named = previous_id(conversation), conversation_id(conversation)
    link, calls = None, {}
    if previous or named:
        found = yield from _recalled(asker, previous or named)
        link = _link_in(found)
        if found.found is not Found.STORE_ERROR:  # it would keep the request waiting for each
            calls = yield from _answered(asker, conversation)
    stores = conversation.value("store") != b"false"
    return Chain(previous, named, link, calls, stores)


def _answered(asker: Asker, conversation: Conversation) -> Core[dict[str, Call]]:
    """The calls of ours that the client answers without sending them along."""
    calls = {}
    outputs = (each.call_id for each in conversation.messages if each.role is Role.TOOL)
    for call_id in islice(dict.fromkeys(filter(None, outputs)), CALLS_MAX):
        known = yield from followed(asker, call_id)
        if known is not None and known.call:
            calls[call_id] = Call(call_id, known.call, known.marker_id)
    return calls


def followed(asker: Asker, name: str) -> Core[Link | None]:
    """The link of a name; None where nothing is known of it."""
    return _link_in((yield from _recalled(asker, name)))


def _recalled(asker: Asker, name: str) -> Core[Recalled]:
    found: Recalled = yield Recall(
        asker.scope, place_of(name), asker.at, keep=False, shared=asker.shared
    )
    return found


def _link_in(found: Recalled) -> Link | None:
    if found.original is None:
        return None
    try:
        return _link.decode(found.original)
    except msgspec.DecodeError:
        return None


def kept(scope: Scope, at: float, links: Sequence[tuple[str, Link]]) -> Core[bool]:
    """Make the links of these names durable. False when one of them is not."""
    payloads = tuple(Payload(place_of(name), msgspec.json.encode(link)) for name, link in links)
    committed: Committed = yield Commit(scope, at, payloads, ())
    return committed.durable.issuperset(payload.marker_id for payload in payloads)


def previous_id(conversation: Conversation) -> str:
    """The response that a request goes on with, "" for none."""
    written = conversation.value("previous_response_id") or b"null"
    try:
        return _string.decode(written)
    except _UNREADABLE:
        return ""


def conversation_id(conversation: Conversation) -> str:
    """The conversation that a request is a turn of, "" for none."""
    written = conversation.value("conversation") or b"null"
    try:
        named = _conversation.decode(written)
        return named if isinstance(named, str) else _string.decode(named["id"])
    except (*_UNREADABLE, KeyError):
        return ""


def continuing(conversation: Conversation, chain: Chain) -> bytes:
    """The body with the response that can be continued in the place of the one it names."""
    if chain.renamed is None:
        return conversation.body
    place = conversation.members["previous_response_id"].value
    return splice(conversation.body, [Edit(place, string_literal(chain.renamed[0]))])
