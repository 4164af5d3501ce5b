"""The parts that an original falls into, as byte ranges in their order.

Source: 05-scoped-recovery-and-image-offload.md A7, step 1.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from dataplane.core.wire.depth import is_too_deep
from dataplane.core.wire.spans import ARRAY, Span, UnparseableError, elements, members

_OBJECT = ord("{")
_MIN_COLUMNS, _MIN_RECORDS = 2, 2
_LINE_ENDS = b"\r\n"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


class Unit(NamedTuple):
    """Half-open byte range. Units of one group with neighbouring places stand side by side.

    is_header: shown with every other unit of its group.
    """

    start: int
    end: int
    place: int
    group: int = 0
    is_header: bool = False


def units_of(original: bytes) -> list[Unit]:
    """The units of a UTF-8 original: JSON, else a table, else text."""
    found = _of_json(original)
    if found is None:
        found = _of_table(original)
    return found if found is not None else list(_of_text(original))


# ---- JSON -----------------------------------------------------------------------------------


def _of_json(original: bytes) -> list[Unit] | None:
    """The objects of its arrays of objects; None for what is not JSON."""
    span = Span(len(original) - len(original.lstrip()), len(original.rstrip()))
    if original[span.start : span.start + 1] not in {b"{", b"["} or is_too_deep(original):
        return None
    try:
        arrays = list(_arrays(original, span))
    except UnparseableError:
        return None
    return [
        Unit(each.start, each.end, index, group)
        for group, array in enumerate(arrays)
        for index, each in enumerate(array)
    ]


def _arrays(original: bytes, span: Span) -> Iterator[list[Span]]:
    """Arrays of nothing but objects, outermost ones only, in their order."""
    opening = original[span.start]
    if opening == ARRAY:
        inside = elements(original, span)
        if inside and all(original[each.start] == _OBJECT for each in inside):
            yield inside
            return
    elif opening == _OBJECT:
        inside = [member.value for member in members(original, span).values()]
    else:
        return
    for each in inside:
        yield from _arrays(original, each)


# ---- tables ---------------------------------------------------------------------------------


def _of_table(original: bytes) -> list[Unit] | None:
    """The records behind the header; None for what is not a table."""
    first = original.partition(b"\n")[0]
    tabs, commas = first.count(b"\t"), first.count(b",")
    if not tabs and not commas:
        return None
    delimiter = "\t" if tabs > commas else ","
    records = list(_records(original))
    widths = {_width(original[each.start : each.end], delimiter) for each in records}
    if len(records) <= _MIN_RECORDS or len(widths) != 1 or widths.pop() < _MIN_COLUMNS:
        return None
    header, *rows = records
    return [
        Unit(header.start, header.end, 0, is_header=True),
        *(Unit(row.start, row.end, index) for index, row in enumerate(rows, start=1)),
    ]


def _records(original: bytes) -> Iterator[Span]:
    """Lines, or several of them where a quoted field goes on behind the line's end."""
    start = position = 0
    quotes = 0
    for line in _LINE.finditer(original):
        quotes += line[0].count(b'"')
        position = line.end()
        if quotes % 2 == 0:
            end = start + len(original[start:position].rstrip(_LINE_ENDS))
            if end > start:
                yield Span(start, end)
            start, quotes = position, 0
    if start < position:
        yield Span(start, position)


def _width(record: bytes, delimiter: str) -> int:
    """Fields of a record, 0 for one that is not written strictly."""
    try:
        rows = list(csv.reader([record.decode()], delimiter=delimiter, strict=True))
    except csv.Error:
        return 0
    return len(rows[0]) if len(rows) == 1 else 0


# ---- text -----------------------------------------------------------------------------------


def _of_text(original: bytes) -> Iterator[Unit]:
    """Paragraphs where there are any, else lines; blank ones are none."""
    between = b"\n\n" if b"\n\n" in original else b"\n"
    position = index = 0
    for part in original.split(between):
        inner = part.strip(_LINE_ENDS)
        if inner.strip():
            start = position + len(part) - len(part.lstrip(_LINE_ENDS))
            yield Unit(start, start + len(inner), index)
            index += 1
        position += len(part) + len(between)
