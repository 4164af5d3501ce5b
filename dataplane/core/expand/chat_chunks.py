"""Chunks of streamed chat completions as the client gets them.

Every chunk names the completion it belongs to, so those of later rounds take the names of the
first; pieces of calls of ours are left out, and whatever then says nothing any more.
Source: 03-proxy-and-recovery.md 2.10, 4.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Raw

from dataplane.core.expand.facts import ChatChoice, ChatChunk
from dataplane.core.expand.raw import NULL, array_of, members_of, object_of
from dataplane.core.expand.stream import with_data
from dataplane.core.wire.spans import Span, UnparseableError, elements, members, whole
from dataplane.core.wire.splice import Edit, splice
from dataplane.core.wire.sse import SseEvent

_IDENTITY = ("id", "created", "model", "system_fingerprint")
_NOTHING = frozenset({b"", b'""', NULL})
_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed in a chunk. identity: members that name the completion. drops_role: the
    client has it. drops_end: finish reason and usage are of a round that is gone on with.
    indices: per choice and piece of a call, its index for the client, None for one left out, and
    ... for one that stays as it is; empty where no call is touched.
    """

    identity: Mapping[str, bytes] = field(default_factory=dict)
    drops_role: bool = False
    drops_end: bool = False
    indices: Sequence[Sequence[int | None]] = ()


def carries_content(choice: ChatChoice) -> bool:
    """Whether the delta holds more than the role."""
    delta: dict[str, Raw] = choice.delta or {}
    return any(name != "role" and bytes(value) not in _NOTHING for name, value in delta.items())


def is_role_only(chunk: ChatChunk) -> bool:
    """True for the opening chunk of a stream, which announces nothing but the role."""
    choices = chunk.choices or []
    return any("role" in (choice.delta or {}) for choice in choices) and not any(
        carries_content(choice) or choice.finish_reason for choice in choices
    )


def identity_of(written: bytes) -> dict[str, bytes]:
    """The members by which a chunk names its completion, as they are written."""
    try:
        found = members(written, whole(written))
    except UnparseableError:
        return {}
    spans = {name: found[name].value for name in _IDENTITY if name in found}
    return {name: written[span.start : span.end] for name, span in spans.items()}


def changed(event: SseEvent, change: Change) -> bytes:
    """The bytes of a chunk with this change; what cannot be read stays as it came."""
    written = event.data
    try:
        found = members(written, whole(written))
        edits = [
            Edit(found[name].value, value)
            for name, value in change.identity.items()
            if name in found
        ]
        if change.drops_end and "usage" in found:
            edits.append(Edit(found["usage"].value, NULL))
        if "choices" in found:
            edits += _in_choices(written, found["choices"].value, change)
    except UnparseableError:
        return event.raw
    return with_data(event, splice(written, edits)) if edits else event.raw


def _in_choices(written: bytes, choices: Span, change: Change) -> Iterator[Edit]:
    for number, choice in enumerate(elements(written, choices)):
        parts = members(written, choice)
        reason = parts.get("finish_reason")
        if change.drops_end and reason is not None:
            yield Edit(reason.value, NULL)
        delta = parts.get("delta")
        if delta is None or written[delta.value.start : delta.value.end] == NULL:
            continue
        said = members_of(written[delta.value.start : delta.value.end])
        kept = dict(said)
        if change.drops_role:
            # The client's accumulator would join a second role to the first.
            kept.pop("role", None)
        if change.indices and _CALLS in kept:
            _renumber(kept, change.indices[number])
        if kept != said:
            yield Edit(delta.value, object_of(kept))


def _renumber(delta: dict[str, bytes], indices: Sequence[int | None]) -> None:
    listed = delta[_CALLS]
    pieces = [listed[span.start : span.end] for span in elements(listed, whole(listed))]
    kept = [
        _with_index(piece, index)
        for piece, index in zip(pieces, indices, strict=True)
        if index is not None
    ]
    if kept:
        delta[_CALLS] = array_of(kept)
    else:
        del delta[_CALLS]


def _with_index(piece: bytes, index: int) -> bytes:
    parts = members_of(piece)
    if "index" not in parts or parts["index"] == b"%d" % index:
        return piece
    return object_of({**parts, "index": b"%d" % index})
