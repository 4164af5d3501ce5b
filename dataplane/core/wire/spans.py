"""Where each member and element of a JSON text lies, in bytes, without changing any of them.

The parser is msgspec: it yields every value as `Raw`, whose length places it; a walk over the
separators in between gives the exact spans. Source: 03-proxy-and-recovery.md 2.7; 06-stack.md 8.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from dataplane.core.wire.pieces import pieces

_SPACE = rb"[ \t\n\r]*"
_OPEN = re.compile(_SPACE + rb"[\[{]")
_SEPARATOR = re.compile(_SPACE + rb",?" + _SPACE)
# Possessive: a group that may give back costs a hundred bytes of memory for each byte of a key.
_KEY = re.compile(_SPACE + rb",?" + _SPACE + rb'"((?:[^"\\]++|\\.)*+)"' + _SPACE + rb":" + _SPACE)
_CLOSE = re.compile(_SPACE + rb"[\]}]")
# Escaped halves of surrogate pairs, the second group without their other half. Backslashes before
# one are read from their first on, in pairs, so that an escaped backslash never starts an escape.
_SURROGATE = re.compile(
    rb"(?<!\\)((?:\\\\)*+)(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ARRAY = msgspec.json.Decoder(list[Raw])
STRING, ARRAY = ord('"'), ord("[")
_BEGINNING, _LOOKS = 256, 8
ELEMENTS_MAX = 100_000  # of one array: as many messages as a provider takes
T = TypeVar("T")


class UnparseableError(ValueError):
    """The bytes are not JSON that can be edited safely; they can still be forwarded as they are."""


class Span(NamedTuple):
    """Half-open byte range in the body."""

    start: int
    end: int


class Member(NamedTuple):
    """One member of an object: where its key literal and its value lie."""

    key: Span
    value: Span


def members(body: bytes, span: Span) -> dict[str, Member]:
    """The members of the object at `span`, in their order.

    Raises UnparseableError for anything but an object, and when a key is there twice: parsers
    disagree about which of the two counts.
    """
    raws = _decode(_OBJECT, body, span)
    position = _after_opening(body, span)
    found: dict[str, Member] = {}
    for name, raw in raws.items():
        key = _KEY.match(body, position)
        if key is None:
            raise UnparseableError("separator")
        value = _placed(body, key.end(), raw)
        found[name] = Member(Span(key.start(1) - 1, key.end(1) + 1), value)
        position = value.end
    _expect_closing(body, position, span)
    return found


def outline(body: bytes) -> tuple[dict[str, Member], bytes]:
    """The members of the body's object, and the bytes from which its values can be read.

    Those are the body, or a copy of the same length without lone surrogates: the parser reads
    none. Raises UnparseableError.
    """
    try:
        return members(body, whole(body)), body
    except UnparseableError:
        shadow = without_lone_surrogates(body)
        if shadow is None:
            raise
        return members(shadow, whole(shadow)), shadow


def elements(body: bytes, span: Span) -> list[Span]:
    """The spans of the elements of the array at `span`.

    Raises UnparseableError, also for more than ELEMENTS_MAX of them.
    """
    raws = _decode(_ARRAY, body, span)
    if len(raws) > ELEMENTS_MAX:
        raise UnparseableError("too many elements")
    position = _after_opening(body, span)
    found = []
    for raw in raws:
        separator = _SEPARATOR.match(body, position)
        assert separator is not None  # noqa: S101  the pattern matches the empty string
        placed = _placed(body, separator.end(), raw)
        found.append(placed)
        position = placed.end
    _expect_closing(body, position, span)
    return found


def elements_in(body: bytes, span: Span, name: str) -> list[Span]:
    """The spans of the elements of the array that a member of the object at `span` holds; none
    where there is no such array, or where it cannot be told.
    """
    try:
        return elements(body, members(body, span)[name].value)
    except (UnparseableError, KeyError):
        return []


def whole(body: bytes) -> Span:
    return Span(0, len(body))


def sole_place(body: bytes, within: Span, raw: Raw) -> Span | None:
    """Where a value lies that was read from `within`, if its bytes stand there only once."""
    value = bytes(raw)
    found: list[Span] = []
    start = within.start - 1
    # By its beginning: looking for all of a long value would hold the interpreter for long.
    for _ in range(_LOOKS):
        start = body.find(value[:_BEGINNING], start + 1, within.end)
        if start < 0:
            return found[0] if len(found) == 1 else None
        if start + len(value) <= within.end and body.startswith(value, start):
            found.append(Span(start, start + len(value)))
    return None


def same_place(body: bytes, found: Span, raw: Raw) -> Span:
    """A place that was walked to, which must hold the value that was read. UnparseableError."""
    if body[found.start : found.end] != bytes(raw):
        raise UnparseableError("another value")
    return found


def opening(raw: Raw) -> int:
    """The first byte of a raw value, which tells its JSON type; 0 for nothing."""
    view = memoryview(raw)
    return view[0] if view.nbytes else 0


def without_lone_surrogates(body: bytes) -> bytes | None:
    """A copy of the same length in which each lone surrogate escape reads as U+FFFD.

    Structure and spans of the copy are those of the body. None when there was nothing to do.
    """
    if rb"\u" not in body:
        return None
    shadow = b"".join(_SURROGATE.sub(_readable, bytes(each)) for each in pieces(body, 0, len(body)))
    return None if shadow == body else shadow


def _readable(escapes: re.Match[bytes]) -> bytes:
    return escapes[1] + rb"\ufffd" if escapes[2] else escapes[0]


def _decode(decoder: msgspec.json.Decoder[T], body: bytes, span: Span) -> T:
    try:
        return decoder.decode(memoryview(body)[span.start : span.end])
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise UnparseableError(type(error).__name__) from error


def _after_opening(body: bytes, span: Span) -> int:
    opening = _OPEN.match(body, span.start)
    assert opening is not None  # noqa: S101  it was decoded as an object or an array
    return opening.end()


def _placed(body: bytes, start: int, raw: Raw) -> Span:
    value = bytes(raw)
    if not body.startswith(value, start):
        raise UnparseableError("duplicate or misplaced value")
    return Span(start, start + len(value))


def _expect_closing(body: bytes, position: int, span: Span) -> None:
    closing = _CLOSE.match(body, position)
    if closing is None or closing.end() > span.end:
        raise UnparseableError("closing")
