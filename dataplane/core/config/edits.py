"""One edit of a problem, made in the text: comments, key order, quotes and indentation stay.

Source: 04-controlplane-and-dashboard.md 2.4 (replacement.edits) and 2.10.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from dataplane.core.config import spelling
from dataplane.core.config.problems import Edit
from dataplane.core.config.source import EditError, Place, Source, is_empty
from dataplane.core.config.tree import (
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    pointer,
    steps_of,
    to_values,
)

_ANCHOR = re.compile(r"line (\d+), column (\d+)")
_DASH = re.compile(r"[ ]*-[ ]+")

_NO_KEYS = "The block has keys that no key can be put beside."


def edited(text: str, edit: Edit) -> str:
    """The text after one edit. EditError when it cannot be made, or names nothing."""
    source = Source(text)
    made = {
        "delete": _delete,
        "rename": _rename,
        "set": _set,
        "move": _move,
        "insert_after": _insert_after,
    }
    return source.bom + made[edit.op](source, edit)


def _delete(source: Source, edit: Edit) -> str:
    steps = steps_of(edit.path)
    place = _repeated(source, steps, edit.anchor) if edit.anchor else source.locate(steps)
    if place is None:
        raise EditError(f"There is nothing at {edit.path}.")
    first = place.entry.key_span if place.entry else place.node.span
    start, end = source.start(first), source.end(place.node)
    if place.entry and is_empty(place.node):
        end = max(end, source.stop(place.entry.key_span))
    if place.parent.flow:
        return _without_in_brackets(source, start, end)
    text = _without_lines(source, start, end, is_item=place.entry is None)
    if isinstance(place.parent, SequenceNode) and len(place.parent.items) == 1:
        return _emptied(text, steps[:-1])
    return text


def _repeated(source: Source, steps: tuple[str, ...], anchor: str) -> Place | None:
    """The repeated entry that stands at "line 5, column 3"."""
    above = source.locate(steps[:-1])
    parent = above.node if above else source.tree
    at = _ANCHOR.fullmatch(anchor)
    wanted = (int(at[1]), int(at[2])) if at else None
    if not isinstance(parent, MappingNode):
        return None
    for entry in parent.repeats:
        if entry.key_span and (entry.key_span.line, entry.key_span.column) == wanted:
            return Place(parent, entry=entry)
    return None


def _without_lines(source: Source, start: int, end: int, *, is_item: bool) -> str:
    """Whole lines are taken out; a comment of theirs stays on a line of its own."""
    text = source.text
    first = source.line_start(start)
    before = text[first:start]
    if not (_DASH.fullmatch(before) if is_item else not before.strip()):
        raise EditError("It shares its line with something else.")
    stop = source.next_line(end)
    indent = before[: len(before) - len(before.lstrip())]
    kept = [
        indent + comment + source.newline for at, comment in source.comments() if first <= at < stop
    ]
    return text[:first] + "".join(kept) + text[stop:]


def _emptied(text: str, steps: tuple[str, ...]) -> str:
    """A list that lost its last entry is written as []."""
    source = Source(text)
    place = source.locate(steps)
    if place is None or place.entry is None:
        raise EditError("The list has no key.")
    colon = text.index(":", source.stop(place.entry.key_span)) + 1
    return text[:colon] + " []" + text[colon:]


def _without_in_brackets(source: Source, start: int, end: int) -> str:
    """An entry between brackets goes with one comma."""
    text = source.text
    comma = _comma_behind(source, end)
    if comma is not None:
        stop = comma + 1
        while text[stop : stop + 1] == " ":
            stop += 1
        return text[:start] + text[stop:]
    before = _comma_before(source, start)
    if before is None:
        return text[:start] + text[end:]
    return text[:before] + text[before + 1 : start].rstrip(" ") + text[end:]


def _skipped(source: Source) -> dict[int, int]:
    return {at: at + len(comment) for at, comment in source.comments()}


def _comma_behind(source: Source, at: int) -> int | None:
    """The comma that follows inside brackets, whose closing one ends the search."""
    skipped = _skipped(source)
    while at in skipped or source.text[at].isspace():
        at = skipped.get(at, at + 1)
    return at if source.text[at] == "," else None


def _comma_before(source: Source, at: int) -> int | None:
    covered = [range(start, stop) for start, stop in _skipped(source).items()]
    at -= 1
    while source.text[at].isspace() or any(at in comment for comment in covered):
        at -= 1
    return at if source.text[at] == "," else None


def _rename(source: Source, edit: Edit) -> str:
    place = source.locate(steps_of(edit.path))
    if place is None or place.entry is None:
        raise EditError(f"There is no key at {edit.path}.")
    start, stop = source.start(place.entry.key_span), source.stop(place.entry.key_span)
    name = spelling.scalar(edit.to, quote=_quote_at(source, start))
    return source.text[:start] + name + source.text[stop:]


def _quote_at(source: Source, at: int) -> str:
    return source.text[at] if source.text[at : at + 1] in ("'", '"') else ""


def _set(source: Source, edit: Edit) -> str:
    steps, value = steps_of(edit.path), edit.value
    place = source.locate(steps)
    if place is None:
        return _inserted(source, steps, value)
    node = place.node
    if isinstance(node, SequenceNode) and _is_list(value) and node.items and value:
        return _relisted(source, steps, node, list(value))
    if isinstance(node, ScalarNode) or node.flow:
        return _replaced(source, node, value)
    return _flattened(source, place, value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _replaced(source: Source, node: Node, value: Any) -> str:
    start, end = source.start(node.span), source.end(node)
    text = source.text
    if isinstance(value, str):
        new = spelling.scalar(value, quote=_quote_at(source, start) or _json_quote(source))
    else:
        new = spelling.flow(value, as_json=source.as_json)
    gap = " " if start == end and text[start - 1 : start] == ":" else ""
    return text[:start] + gap + new + text[end:]


def _json_quote(source: Source) -> str:
    return '"' if source.as_json else ""


def _flattened(source: Source, place: Place, value: Any) -> str:
    """A block becomes a value on the key's line; comments inside it move behind."""
    if place.entry is None:
        raise EditError("A block inside a list cannot be replaced in place.")
    colon = source.text.index(":", source.stop(place.entry.key_span)) + 1
    end = source.end(place.node)
    indent = " " * (place.entry.key_span.column - 1 if place.entry.key_span else 0)
    stop = source.line_stop(end)
    kept = [
        source.newline + indent + comment for at, comment in source.comments() if colon <= at < stop
    ]
    new = " " + spelling.flow(value, as_json=False)
    return source.text[:colon] + new + "".join(kept) + source.text[stop:]


def _relisted(source: Source, steps: tuple[str, ...], node: SequenceNode, new: list[Any]) -> str:
    """Entries that both lists have stay where they are, with what stands beside them."""
    old = [to_values(item) for item in node.items]
    left, right = ([repr(one) for one in each] for each in (old, new))
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    text = source.text
    if not any(code == "equal" for code, *_ in codes):
        place = source.locate(steps)
        if node.flow or place is None:
            return _replaced(source, node, new)
        return _flattened(source, place, new)
    for code, low, high, start, stop in reversed(codes):
        if code != "equal":
            text = _spliced(text, steps, (low, high), new[start:stop])
    return text


def _spliced(text: str, steps: tuple[str, ...], at: tuple[int, int], new: Sequence[Any]) -> str:
    """Entries [low, high) of a list give way to new ones."""
    low, high = at
    for value in reversed(new):
        text = _entered(Source(text), steps, high - 1, value)
    for index in reversed(range(low, high)):
        text = _delete(Source(text), Edit("delete", pointer((*steps, index))))
    return text


def _insert_after(source: Source, edit: Edit) -> str:
    steps = steps_of(edit.path)
    place = source.locate(steps)
    if place is None or not isinstance(place.node, SequenceNode):
        raise EditError(f"There is no list at {edit.path}.")
    names = [to_values(item) for item in place.node.items]
    at = names.index(edit.anchor) if edit.anchor in names else len(names) - 1
    return _entered(source, steps, at, edit.value)


def _entered(source: Source, steps: tuple[str, ...], after: int, value: Any) -> str:
    """A new entry of a list behind the one with this index, -1 for the first place."""
    place = source.locate(steps)
    assert place is not None  # noqa: S101  the caller has found it
    node, text = place.node, source.text
    assert isinstance(node, SequenceNode)  # noqa: S101  the caller has found it
    if node.flow:
        new = spelling.flow(value, as_json=source.as_json)
        if after < 0:
            at = source.start(node.span) + 1
            return text[:at] + new + (", " if node.items else "") + text[at:]
        at = source.end(node.items[after])
        return text[:at] + ", " + new + text[at:]
    neighbour = node.items[max(after, 0)]
    first = source.line_start(source.start(neighbour.span))
    dash = text[first : source.start(neighbour.span)]
    if not _DASH.fullmatch(dash):
        raise EditError("The entry shares its line with something else.")
    line = dash + spelling.flow(value, as_json=False)
    at = first if after < 0 else source.next_line(source.end(neighbour))
    return _with_lines(source, at, [line])


def _with_lines(source: Source, at: int, lines: Sequence[str]) -> str:
    """Lines put in front of the line that begins at an offset, or behind the last one."""
    text, newline = source.text, source.newline
    if at == len(text) and text and text[-1] not in "\r\n":
        return text + "".join(newline + line for line in lines)
    return text[:at] + "".join(line + newline for line in lines) + text[at:]


def _inserted(source: Source, steps: tuple[str, ...], value: Any) -> str:
    """A key that is not there yet, with the blocks around it that are missing."""
    if not steps:
        raise EditError("The edit names no place to write to.")
    depth = len(steps) - 1
    while depth and source.locate(steps[:depth]) is None:
        depth -= 1
    for step in reversed(steps[depth + 1 :]):
        value = {step: value}
    parent = source.locate(steps[:depth]) if depth else None
    node: Node | None = parent.node if parent else source.tree
    key = steps[depth]
    if parent is not None and is_empty(parent.node):
        return _below_empty(source, parent, key, value)
    if node is None:
        lines = spelling.block(key, value, indent=0, step=source.step)
        return _with_lines(source, len(source.text), lines)
    if not isinstance(node, MappingNode):
        raise EditError(f"{pointer(steps[:depth])} is no block of keys.")
    return _joined(source, node, key, value)


def _below_empty(source: Source, parent: Place, key: str, value: Any) -> str:
    entry = parent.entry
    if entry is None or entry.key_span is None or parent.parent.flow:
        raise EditError("There is no block to write the key into.")
    start, end = source.start(parent.node.span), source.end(parent.node)
    if start < end:  # `~` or `null` says the same as nothing
        source = Source(source.text[:start].rstrip(" ") + source.text[end:])
    indent = entry.key_span.column - 1 + source.step
    lines = spelling.block(key, value, indent=indent, step=source.step)
    return _with_lines(source, source.next_line(source.stop(entry.key_span)), lines)


def _joined(source: Source, node: MappingNode, key: str, value: Any) -> str:
    """A new key behind the last one of a block."""
    if node.flow:
        return _joined_in_brackets(source, node, key, value)
    written = (*node.entries, *node.repeats)
    if not written:
        raise EditError(_NO_KEYS)
    last = max(written, key=lambda entry: source.start(entry.key_span))
    indent = last.key_span.column - 1 if last.key_span else 0
    lines = spelling.block(key, value, indent=indent, step=source.step)
    return _with_lines(source, _behind(source, last), lines)


def _behind(source: Source, last: Entry) -> int:
    """The line behind an entry."""
    return source.next_line(max(source.end(last.value), source.stop(last.key_span)))


def _joined_in_brackets(source: Source, node: MappingNode, key: str, value: Any) -> str:
    text = source.text
    new = spelling.flow({key: value}, as_json=source.as_json)[1:-1]
    if not node.entries:
        at = source.start(node.span) + 1
        if text[at : at + 1].strip() not in ("", "}"):
            raise EditError(_NO_KEYS)
        return text[:at] + new + text[at:]
    last = node.entries[-1]
    at = max(source.end(last.value), source.stop(last.key_span))
    comma = _comma_behind(source, at)
    if comma is not None:
        return text[: comma + 1] + " " + new + text[comma + 1 :]
    return text[:at] + ", " + new + text[at:]


def _move(source: Source, edit: Edit) -> str:
    place = source.locate(steps_of(edit.path))
    target = edit.to or ""
    if place is None or place.entry is None:
        raise EditError(f"There is no key at {edit.path}.")
    if source.locate(steps_of(target)) is not None:
        raise EditError(f"{target} is written already.")
    text = _inserted(source, steps_of(target), to_values(place.node))
    return _delete(Source(text), Edit("delete", edit.path))
