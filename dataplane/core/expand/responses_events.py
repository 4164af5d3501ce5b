"""The events of a Responses stream: what they say, and their bytes under other numbers.

Every event counts on from the one before it (`sequence_number`), every event of an item names its
place in the output, and the last one repeats the whole response. The official client refuses a
response whose id changes, a place that is taken twice and an item that has no place.
Source: 03-proxy-and-recovery.md 4.5; 00-start-here.md 2 (row 37).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Raw

from dataplane.core.expand.facts import RESPONSE_ENDS, kind_of
from dataplane.core.expand.raw import array_of
from dataplane.core.expand.reply_responses import ItemHead, head_of, without_ours
from dataplane.core.expand.stream import with_data
from dataplane.core.expand.terms import Terms
from dataplane.core.wire.spans import Member, Span, UnparseableError, elements, members, whole
from dataplane.core.wire.splice import Edit, splice, string_literal
from dataplane.core.wire.sse import SseEvent

BEGINNINGS = frozenset({b"response.created", b"response.queued", b"response.in_progress"})
ADDED, ITEM_DONE = b"response.output_item.added", b"response.output_item.done"
ITEMS = frozenset({ADDED, ITEM_DONE})
FAILURES = frozenset({b"response.failed", b"error"})
Items = Callable[[list[bytes]], list[bytes]]


class Placed(msgspec.Struct):
    """Where an event belongs; None and empty for what it does not say."""

    sequence_number: int | None = None
    output_index: int | None = None
    item_id: str | None = None
    item: Raw = Raw(b"")
    response: Raw = Raw(b"")

    @property
    def head(self) -> ItemHead | None:
        """What the item of the event is, None where there is none."""
        return head_of(bytes(self.item)) if memoryview(self.item).nbytes else None


class _Identified(msgspec.Struct):
    id: str | None = None


_placed = msgspec.json.Decoder(Placed)
_identified = msgspec.json.Decoder(_Identified)
NOWHERE = Placed()


def placed(event: SseEvent) -> Placed:
    """NOWHERE for comments, and for what is no event of this dialect."""
    if not event.data.startswith(b"{"):
        return NOWHERE
    try:
        return _placed.decode(event.data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return NOWHERE


def ends(event: SseEvent) -> bool:
    """True for the event that holds the response as it ended, all of it."""
    return kind_of(event) in RESPONSE_ENDS and placed(event) is not NOWHERE


def output_of(events: Iterable[SseEvent]) -> list[bytes]:
    """The output items of a complete round: as its last event lists them, which is the only one
    that some providers put the encrypted reasoning into; else as each was done.
    """
    done: dict[int, bytes] = {}
    for event in events:
        if kind_of(event) == ITEM_DONE:
            seen = placed(event)
            done[seen.output_index or 0] = bytes(seen.item)
        elif ends(event) and (listed := _listed(event)):
            return listed
    return [done[place] for place in sorted(done)]


def _listed(event: SseEvent) -> list[bytes]:
    try:
        response = members(event.data, members(event.data, whole(event.data))["response"].value)
        return _values(event.data, response["output"].value)
    except (UnparseableError, KeyError):
        return []


def identity_of(response: Raw | bytes) -> str:
    """The id of a response; empty where it has none."""
    try:
        return _identified.decode(response).id or ""
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


def _values(written: bytes, array: Span) -> list[bytes]:
    return [written[span.start : span.end] for span in elements(written, array)]


def rewritten(
    event: SseEvent,
    *,
    number: int | None,
    place: int | None,
    item_id: str | None = None,
    response: Callable[[bytes, Span], list[Edit]] | None = None,
) -> bytes:
    """The bytes of an event with other values in the members given; None leaves one alone.

    response: the edits of the response that the event holds. Whatever is unreadable stays.
    """
    if number is None and place is None and item_id is None and response is None:
        return event.raw
    written = event.data
    try:
        parts = members(written, whole(written))
        edits = list(_numbered(parts, {"sequence_number": number, "output_index": place}))
        if item_id is not None:
            edits += _named(written, parts, string_literal(item_id))
        if response is not None and "response" in parts:
            edits += response(written, parts["response"].value)
    except (UnparseableError, KeyError):
        return event.raw
    return with_data(event, splice(written, edits)) if edits else event.raw


def _numbered(parts: dict[str, Member], values: dict[str, int | None]) -> Iterable[Edit]:
    for name, value in values.items():
        if value is not None and name in parts:
            yield Edit(parts[name].value, b"%d" % value)


def _named(written: bytes, parts: dict[str, Member], item_id: bytes) -> Iterable[Edit]:
    if "item_id" in parts:
        yield Edit(parts["item_id"].value, item_id)
    if "item" in parts:
        yield Edit(members(written, parts["item"].value)["id"].value, item_id)


def renamed(item: bytes, item_id: str) -> bytes:
    """An output item under another id; as it is where it has none that can be told."""
    try:
        place = members(item, whole(item))["id"].value
    except (UnparseableError, KeyError):
        return item
    return splice(item, [Edit(place, string_literal(item_id))])


def response_edits(
    written: bytes,
    response: Span,
    *,
    identity: str = "",
    output: Items | None = None,
    terms: Terms,
) -> list[Edit]:
    """The edits of a response object, in an event or alone.

    identity: the id that the client knows it by. output: from the items that it
    lists to those that the client gets. UnparseableError.
    """
    parts = members(written, response)
    edits = []
    if identity and "id" in parts:
        edits.append(Edit(parts["id"].value, string_literal(identity)))
    if output is not None:
        edits += _listing(written, parts, response, output)
    if terms.declared:
        edits += declarations(written, parts)
    if terms.continued is not None and "previous_response_id" in parts:
        own, known = terms.continued
        place = parts["previous_response_id"].value
        if written[place.start : place.end] == string_literal(own):
            edits.append(Edit(place, string_literal(known)))
    return edits


def _listing(
    written: bytes, parts: dict[str, Member], response: Span, output: Items
) -> Iterable[Edit]:
    place = parts["output"].value if "output" in parts else None
    is_list = place is not None and written[place.start : place.start + 1] == b"["
    before = _values(written, place) if place is not None and is_list else []
    after = output(before)
    if after == before:
        return
    if place is not None:
        yield Edit(place, array_of(after))
    else:
        end = response.end - 1
        yield Edit(Span(end, end), b',"output":' + array_of(after))


def declarations(written: bytes, parts: dict[str, Member]) -> Iterable[Edit]:
    """The edits that leave our tool out of what a response repeats: the tools, and the list of
    those that the model was allowed to call. UnparseableError.
    """
    if "tools" in parts:
        yield from _filtered(written, parts["tools"].value)
    choice = parts["tool_choice"].value if "tool_choice" in parts else None
    if choice is not None and written[choice.start : choice.start + 1] == b"{":
        allowed = members(written, choice).get("tools")
        if allowed is not None:
            yield from _filtered(written, allowed.value)


def _filtered(written: bytes, tools: Span) -> Iterable[Edit]:
    if written[tools.start : tools.start + 1] != b"[":
        return
    declared = _values(written, tools)
    kept = without_ours(declared)
    if len(kept) < len(declared):
        yield Edit(tools, array_of(kept))
