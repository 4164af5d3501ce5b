"""The parts of an original that answer a query best, verbatim and with what lies between named.

An original falls into units: the objects of a JSON array, the records of a table, paragraphs or
lines. The best ones by BM25 are shown in their order.
Source: 05-scoped-recovery-and-image-offload.md A7.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dataplane.core.expand.pages import cut
from dataplane.core.expand.units import Unit, units_of

SHOWN_UNITS = 20
_SHORTEST_TERM_BYTES = 2
_TERM = re.compile(r"\w+")
_STOP_WORDS = frozenset(
    _TERM.findall(
        "a an and are as at be by for from how in is it of on or that the this to was what when "
        "where which who why with"
    )
)
_SATURATION, _LENGTH_SHARE = 1.5, 0.75  # k1 and b of BM25
_BLANK = b" \t\r\n"


class _Range(NamedTuple):
    start: int
    end: int


def excerpt_of(original: bytes, query: str, *, limit: int) -> str:
    """What of `original` (UTF-8) answers the query, at most `limit` bytes of it; all of it when
    nothing does.
    """
    hits = _best(units_of(original), original, query)
    if hits:
        shown = _rendered(original, list(_merged(hits)))
        if len(shown) < len(original):
            original = shown
    return original[: cut(original, limit)].decode()


def _terms(text: str) -> list[str]:
    return [
        term
        for term in _TERM.findall(text.lower())
        if len(term.encode()) >= _SHORTEST_TERM_BYTES and term not in _STOP_WORDS
    ]


def _best(units: Sequence[Unit], original: bytes, query: str) -> list[Unit]:
    """The units that say most of what is asked, in their order, behind a header if there is one."""
    asked = set(_terms(query))
    ranked = [unit for unit in units if not unit.is_header]
    said = [Counter(_terms(original[unit.start : unit.end].decode())) for unit in ranked]
    scores = _scores(said, asked)
    order = sorted(range(len(ranked)), key=lambda n: (-scores[n], n))
    chosen = sorted(n for n in order[:SHOWN_UNITS] if scores[n] > 0)
    headers = [unit for unit in units if unit.is_header] if chosen else []
    return headers + [ranked[n] for n in chosen]


def _scores(said: Sequence[Counter[str]], asked: set[str]) -> list[float]:
    lengths = [unit.total() for unit in said]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    found = {term: sum(term in unit for unit in said) for term in asked}
    weight = {
        term: math.log(1 + (len(said) - count + 0.5) / (count + 0.5))
        for term, count in found.items()
    }
    return [
        sum(
            weight[term] * _saturated(unit[term], length / average)
            for term in sorted(asked & unit.keys())
        )
        for unit, length in zip(said, lengths, strict=True)
    ]


def _saturated(count: int, relative_length: float) -> float:
    damped = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * relative_length)
    return count * (_SATURATION + 1) / (count + damped)


def _merged(hits: Sequence[Unit]) -> Iterator[_Range]:
    """Neighbours of one group as one range, with what stands between them."""
    start, last = hits[0].start, hits[0]
    for hit in hits[1:]:
        if (hit.group, hit.place) != (last.group, last.place + 1):
            yield _Range(start, last.end)
            start = hit.start
        last = hit
    yield _Range(start, last.end)


def _rendered(original: bytes, ranges: Sequence[_Range]) -> bytes:
    out = bytearray()
    position = 0
    for start, end in (*ranges, _Range(len(original), len(original))):
        skipped = original[position:start]
        if skipped.strip(_BLANK):
            if out and not out.endswith(b"\n"):
                out += b"\n"
            out += b"[omitted bytes %d..%d of %d]\n" % (position, start, len(original))
        else:
            out += skipped
        out += original[start:end]
        position = end
    return bytes(out)
