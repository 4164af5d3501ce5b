"""cachesplit: let the volatile tail of a system prompt change without breaking the cached head.

The component takes no keys and decides nothing about tool outputs: it splits the first system block
that has a split point. The second block carries no cache breakpoint.
Source: 01-components.md 2.18.
"""

from __future__ import annotations

import msgspec

from dataplane.core.port.declaration import Declaration, Kind
from dataplane.core.wire import marks
from dataplane.core.wire.envelope import with_comma
from dataplane.core.wire.message import Conversation, Dialect
from dataplane.core.wire.spans import ARRAY, STRING, Member, Span, elements, members
from dataplane.core.wire.splice import Edit, splice, string_literal

SMALLEST_STABLE_BYTES = 4096
_VOLATILE = (
    "\nRecent commits:\n",
    "\nCurrent branch: ",
    "\ngitStatus:",
    "\nHere is a snapshot of the current directory",
)


def split_point(text: str) -> int | None:
    """Where the volatile part of a system text begins, as an index into text; None for nowhere.

    It begins behind the new-line before the earliest volatile heading. What comes before must be
    at least SMALLEST_STABLE_BYTES of UTF-8, else the provider would not cache it.
    """
    starts = [at for at in map(text.find, _VOLATILE) if at >= 0]
    if not starts:
        return None
    cut = min(starts) + 1
    return cut if len(text[:cut].encode("utf-8", "replace")) >= SMALLEST_STABLE_BYTES else None


def rewrite(conversation: Conversation, _: object = None) -> list[Edit]:
    """Cut the first system block that ends in per-turn facts into a stable and a volatile block.

    The two texts concatenate to the original; breakpoints stay on the stable half alone. No edit
    when no block qualifies; only Anthropic's prompts have blocks.
    """
    system = conversation.members.get("system")
    body = conversation.body
    is_blocks = system is not None and body[system.value.start] == ARRAY
    if system is None or not is_blocks or conversation.dialect is not Dialect.ANTHROPIC:
        return []
    for block in elements(body, system.value):
        parts = members(body, block)
        text = _text(body, parts)
        cut = split_point(text) if text is not None else None
        if text is not None and cut is not None and not all(mark in parts for mark in marks.NAMES):
            return [Edit(block, _halves(body, block, parts, (text[:cut], text[cut:])))]
    return []


def _text(body: bytes, parts: dict[str, Member]) -> str | None:
    literal = parts.get("text")
    if literal is None or body[literal.value.start] != STRING:
        return None
    text = msgspec.json.decode(memoryview(body)[literal.value.start : literal.value.end])
    return text if isinstance(text, str) else None


def _halves(body: bytes, block: Span, parts: dict[str, Member], texts: tuple[str, str]) -> bytes:
    def rewritten(edits: list[Edit]) -> bytes:
        shifted = [Edit(_shift(edit.span, -block.start), edit.replacement) for edit in edits]
        return splice(body[block.start : block.end], shifted)

    literal = parts["text"].value
    stable = rewritten([Edit(literal, string_literal(texts[0]))])
    unmarked = [Edit(with_comma(parts, name), b"") for name in marks.NAMES if name in parts]
    return stable + b"," + rewritten([Edit(literal, string_literal(texts[1])), *unmarked])


def _shift(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)


COMPONENT = Declaration(
    name="cachesplit",
    kind=Kind.ENVELOPE,
    summary="Splits the system prompt so that its volatile tail does not spoil the cached head.",
    config=None,
    gates=(),
    rewrite=rewrite,
)
