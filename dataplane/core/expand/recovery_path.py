"""Whether what is removed from a request now could be asked back on that same request.

A marker is redeemable when the recovery tool stands on this very body, its `tool_choice` lets the
model call it, and the answer is read here. What was offered on another turn proves nothing: its
answer is another one, and a model calls the tools that it is given.
Source: 00-start-here.md 2 (rows 26, 28); 03-proxy-and-recovery.md 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dataplane.core.tools import tool
from dataplane.core.wire.message import Conversation, Dialect

_ONE_CHOICE = frozenset({None, b"null", b"1"})  # of `n`; any other spelling may be several


class RecoveryPath(NamedTuple):
    """declares: the recovery tool is added to this body. redeems: new markers may leave in it.

    watches: a call of ours may come in the answer, so it is looked for. answers: it can be
    answered, because the answer is read here.
    """

    declares: bool = False
    redeems: bool = False
    watches: bool = False
    answers: bool = True


def recovery_path(
    conversation: Conversation, *, offers: bool, always: bool, was_offered: bool
) -> RecoveryPath:
    """The way back of one request.

    offers: its configuration declares the tool where it can. always: also to a client that brings
    no tools. was_offered: an earlier turn of this very thread carried it, and its model may call
    it again; where the provider holds that turn, it has to be there again.
    """
    is_read = answer_is_read_here(conversation)
    brought = tool.EXPAND in conversation.tool_names
    goes_on = was_offered and conversation.has_server_history
    wanted = offers and is_read and (always or goes_on or bool(conversation.tool_names))
    stands = brought or wanted
    may_ask = is_read and conversation.tool_choice.lets_call(tool.EXPAND)
    return RecoveryPath(
        declares=wanted and not brought,
        redeems=stands and may_ask and not _ends_where_nobody_knows(conversation),
        watches=stands or was_offered or _speaks_of_it(conversation),
        answers=is_read,
    )


def answer_is_read_here(conversation: Conversation) -> bool:
    """Whether the answer comes back on this request, as one, and calls are taken out of it."""
    return conversation.value("n") in _ONE_CHOICE and _READS[conversation.dialect](conversation)


def _always(_: Conversation) -> bool:
    return True


def _not_in_the_background(conversation: Conversation) -> bool:
    """An answer that is made in the background is fetched later, by whoever knows its id."""
    return conversation.value("background") != b"true"


def _ends_where_nobody_knows(conversation: Conversation) -> bool:
    """Whether the provider adds a round to a conversation whose answers it shall not keep is not
    documented, so neither is what a second round would have to send.
    """
    named = conversation.value("conversation") not in {None, b"null"}
    return named and conversation.value("store") == b"false"


_READS: dict[Dialect, Callable[[Conversation], bool]] = {
    Dialect.ANTHROPIC: _always,
    Dialect.OPENAI_CHAT: _always,
    Dialect.OPENAI_RESPONSES: _not_in_the_background,
}


def _speaks_of_it(conversation: Conversation) -> bool:
    """An earlier call that was handed over stands in the transcript: a model repeats itself."""
    return conversation.says(tool.SIGN) and conversation.says(tool.EXPAND.encode())
