"""The tools that the gateway declares to the model, and the texts that answer them.

The definitions are bytes for ever: they lie at the start of prefixes that providers have cached,
so a changed byte makes every conversation pay for its prefix once more.
Source: 03-proxy-and-recovery.md 4.1, 4.4.
"""

from __future__ import annotations

from dataplane.core.wire.envelope import Declared
from dataplane.core.wire.message import Dialect

EXPAND = "context_guru_expand"
ADJUDICATE = "context_guru_adjudicate"
ADJUDICATE_ANSWER = (
    "Context upkeep is automatic; nothing is needed from you. Continue with the task."
)

SIGN = b"context_guru_"  # in every name of a tool of ours
_INJECTED = frozenset({EXPAND, ADJUDICATE})
_NAMED = (
    b'{"name":"context_guru_expand","description":"Return the complete original text that a '
    b'<<cg:HASH>> marker in this conversation stands for.",'
)
_SCHEMA = (
    b'{"type":"object","properties":{"id":{"type":"string",'
    b'"description":"The HASH of the marker to open."}},"required":["id"]}'
)
EXPAND_ANTHROPIC = _NAMED + b'"input_schema":' + _SCHEMA + b"}"
EXPAND_OPENAI_CHAT = b'{"type":"function","function":' + _NAMED + b'"parameters":' + _SCHEMA + b"}}"
EXPAND_OPENAI_RESPONSES = (
    b'{"type":"function",' + _NAMED[1:] + b'"parameters":' + _SCHEMA + b',"strict":false}'
)


DECLARED = {
    Dialect.ANTHROPIC: Declared(EXPAND_ANTHROPIC),
    Dialect.OPENAI_CHAT: Declared(
        EXPAND_OPENAI_CHAT, b'{"type":"function","function":{"name":"context_guru_expand"}}'
    ),
    Dialect.OPENAI_RESPONSES: Declared(
        EXPAND_OPENAI_RESPONSES, b'{"type":"function","name":"context_guru_expand"}'
    ),
}


def is_injected(name: str) -> bool:
    """True for a tool that the gateway answers itself."""
    return name in _INJECTED


def recovers(name: str) -> bool:
    """True for the recovery tool, also under the prefix by which a client knows its server."""
    return name == EXPAND or name.endswith(("_" + EXPAND, "." + EXPAND, ":" + EXPAND, "/" + EXPAND))


def placeholder(marker_id: str) -> str:
    """What the model reads instead of an original that cannot be produced, whatever the cause."""
    return f"[{EXPAND}: the original for id {marker_id} is no longer available]"


def pointer(marker_id: str) -> str:
    """What the model reads instead of a second copy of an original that the request holds."""
    return f"[{EXPAND}: the content for id {marker_id} is present earlier in this conversation]"


def answer_text(name: str, recalled: str | None, marker_id: str | None) -> str:
    """The result of one call of an injected tool.

    recalled: the original, or None when there is none to give. marker_id: as the model wrote it,
    None when it gave no string.
    """
    if name == ADJUDICATE:
        return ADJUDICATE_ANSWER
    return placeholder(marker_id or "") if recalled is None else recalled
