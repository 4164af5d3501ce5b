"""What a dialect is asked and what it answers; the simulated model's words before any dialect."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dataplane.simulator.cache import tokens_of
from dataplane.simulator.problem import ScriptError
from dataplane.simulator.script import Json, Round, with_markers

JSON_TYPE = "application/json"
SSE_TYPE = "text/event-stream; charset=utf-8"
SIGNATURE_PREFIX = "sim1"
_NEEDED = {"text": "text", "thinking": "thinking", "tool_use": "name"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. now: its time in seconds. serial: its number, from which ids are made."""

    body: bytes
    credential: str
    now: float
    serial: int
    wanted: Round = field(default_factory=Round)

    def owner(self, model: str) -> bytes:
        """Whose prompt cache it uses: a credential's, per model."""
        return f"{self.credential}\0{model}".encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. events: one network write each, unless the round says otherwise; a JSON body
    is one event. streamed: sent without a length. is_raw: its headers are the script's alone.
    """

    events: Sequence[bytes]
    status: int = 200
    content_type: str = JSON_TYPE
    streamed: bool = False
    is_raw: bool = False
    headers: Sequence[tuple[str, str]] = ()


def json_answer(value: Any, *, status: int = 200) -> Answer:
    return Answer([msgspec.json.encode(value)], status)


def sse_answer(events: Sequence[bytes]) -> Answer:
    return Answer(events, content_type=SSE_TYPE, streamed=True)


def named_event(value: Json) -> bytes:
    """An SSE event whose `event:` line repeats the value's type."""
    return b"event: %s\ndata: %s\n\n" % (value["type"].encode(), msgspec.json.encode(value))


def content_of(wanted: Round, default: str, markers: Callable[[], list[str]]) -> list[Json]:
    """The blocks to answer with: the script's, its placeholders filled in, or the default text."""
    if isinstance(wanted.content, list):
        return [_checked(with_markers(block, markers)) for block in wanted.content]
    if wanted.content is not None:
        return [{"type": "text", "text": wanted.content}]
    if wanted.events:
        return [{"type": "text", "text": _words(wanted.events)}]
    return [{"type": "text", "text": default}]


def _checked(block: Json) -> Json:
    """The block, when it has the member that its type cannot do without."""
    kind = block.get("type")
    needed = _NEEDED.get(kind, "type") if isinstance(kind, str) else "type"
    if not isinstance(block.get(needed), str):
        raise ScriptError(f"content: a {kind!r} block needs {needed!r}, a string")
    return block


def _words(count: int) -> str:
    """So many words of one length, so that each becomes one delta."""
    width = len(str(count - 1))
    return "".join(f"word{n:0{width}d} " for n in range(count))


def default_text(messages: int, tokens: int) -> str:
    """The answer without a script: how much arrived."""
    return f"{messages} messages with {tokens} tokens arrived at the simulated provider."


def text_pieces(text: str, wanted: Round) -> list[str]:
    """The text cut into deltas: as many as the round's `events`, else of `delta_chars`."""
    if wanted.events:
        count = min(wanted.events, max(1, len(text)))
        edges = [len(text) * n // count for n in range(count + 1)]
        return [text[edges[n] : edges[n + 1]] for n in range(count)]
    return slices(text, wanted.delta_chars)


def slices(text: str, size: int) -> list[str]:
    """The text in pieces of at most `size` characters; one empty piece for an empty text."""
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def stop_reason_of(wanted: Round, content: Iterable[Json]) -> str:
    if wanted.stop_reason is not None:
        return wanted.stop_reason
    uses = any(block.get("type") == "tool_use" for block in content)
    return "tool_use" if uses else "end_turn"


def output_tokens(content: Iterable[Json]) -> int:
    """Tokens of an answer by the provider's own count; at least one."""
    size = sum(len(msgspec.json.encode(_spoken(block))) for block in content)
    return max(1, tokens_of(size))


def _spoken(block: Json) -> Any:
    for member in ("text", "thinking", "input", "data"):
        if member in block:
            return block[member]
    return block


def signature_of(thinking: str) -> str:
    """The signature of a thinking text: changed thinking no longer fits it."""
    digest = hashlib.sha256(thinking.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{SIGNATURE_PREFIX}.{digest}"


def with_override(usage: Json, override: Json) -> Json:
    """The usage with the script's fields put over it, nested objects member by member."""
    merged = dict(usage)
    for name, value in override.items():
        inner = merged.get(name)
        if isinstance(inner, dict) and isinstance(value, dict):
            merged[name] = with_override(inner, value)
        else:
            merged[name] = value
    return merged
