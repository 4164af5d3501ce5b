"""Which conversation a request belongs to (03-proxy-and-recovery.md 2.4)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from dataplane.core.text.content import Content
from dataplane.core.wire.message import Conversation, Role

# Ours, then those that agents send by themselves: opencode 1.18 and Codex 0.171.
HEADERS = (b"x-context-guru-session", b"x-session-id", b"session-id")
_USABLE = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_METADATA_JSON_MAX_BYTES = 1024
_DERIVED_LENGTH = 16
_SYSTEM_CHARS = 512
_OPENINGS_MAX = 50_000
_NOTHING = Content("")
_openings: dict[tuple[bytes, bytes], str] = {}


class Identity(NamedTuple):
    """session: id inside the tenant. alias: the derived id when session is not it, else "".

    thread: the prompt-cache lineage inside the session, "" for the main one.
    """

    session: str = ""
    alias: str = ""
    thread: str = ""


class SessionKeys(NamedTuple):
    """What may name a session besides the ids that agents send for it.

    prompt_cache_key: the member of that name counts as such an id; applications often use one for
    many conversations. with_system: the beginning of a top-level system prompt is part of the
    derived id, which then changes whenever that does.
    """

    prompt_cache_key: bool = False
    with_system: bool = False


ONLY_IDS = SessionKeys()


def identify(
    conversation: Conversation,
    *,
    session_header: str,
    agent_header: str,
    keys: SessionKeys = ONLY_IDS,
) -> Identity:
    """The first usable of what HEADERS brought, metadata.user_id, metadata.taskId, where keys allow
    it the prompt_cache_key, and the derived id.
    """
    derived = derived_id(conversation, with_system=keys.with_system)
    candidates = [session_header, *_metadata_candidates(conversation)]
    if keys.prompt_cache_key:
        candidates.append(_text_of(_decoded(conversation.value("prompt_cache_key") or b"null")))
    session = next((found for each in candidates if (found := usable(each))), derived)
    agent = usable(agent_header)
    return Identity(session, "" if session == derived else derived, f"a:{agent}" if agent else "")


def usable(candidate: str) -> str:
    """The trimmed candidate when it can name a session, else ""."""
    if not candidate:
        return ""
    trimmed = candidate.strip()
    if not _USABLE.fullmatch(trimmed) or not trimmed.strip("."):
        return ""
    return trimmed


def derived_id(conversation: Conversation, *, with_system: bool = False) -> str:
    """16 hex over the first system-role message and the first user text of `messages`.

    with_system: and over the digest of the beginning of the top-level system prompt.
    """
    system = _first(conversation, Role.SYSTEM)
    user = _first(conversation, Role.USER)
    if not with_system:
        return _opening_id(system, user)
    top = _text_of(_decoded(conversation.value("system") or b"null"))
    beginning = top[:_SYSTEM_CHARS].encode("utf-8", "replace")
    return _hashed(system.utf8, user.utf8, hashlib.sha256(beginning).digest())


def _opening_id(system: Content, user: Content) -> str:
    """A conversation is known by how it begins, and every turn begins the same way."""
    known = (system.digest, user.digest)
    found = _openings.get(known)
    if found is None:
        if len(_openings) >= _OPENINGS_MAX:
            _openings.clear()
        found = _openings[known] = _hashed(system.utf8, user.utf8)
    return found


def _hashed(*parts: bytes) -> str:
    return hashlib.sha256(b"\x00".join(parts)).hexdigest()[:_DERIVED_LENGTH]


def _first(conversation: Conversation, role: Role) -> Content:
    return next((m.content for m in conversation.messages if m.role is role), _NOTHING)


def _text_of(value: object) -> str:
    """A string, or the texts of a list of text blocks; "" for anything else."""
    if isinstance(value, list):
        blocks = (block for block in value if isinstance(block, dict))
        return "".join(_text_of(block.get("text")) for block in blocks)
    return value if isinstance(value, str) else ""


def _metadata_candidates(conversation: Conversation) -> Iterator[str]:
    stated = conversation.value("metadata")
    metadata = None if stated is None else _decoded(stated)
    if not isinstance(metadata, dict):
        return
    for name in ("user_id", "taskId"):
        value = metadata.get(name)
        if isinstance(value, str):
            yield _session_inside(value.strip())


def _session_inside(value: str) -> str:
    """The value itself, or the session_id of the JSON object that some agents send as a string."""
    if not value.startswith("{"):
        return value
    if len(value.encode("utf-8", "replace")) > _METADATA_JSON_MAX_BYTES:
        return ""
    inner = _decoded(value.encode("utf-8", "replace"))
    session = inner.get("session_id") if isinstance(inner, dict) else None
    return session if isinstance(session, str) else ""


def _decoded(value: bytes) -> object:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None
