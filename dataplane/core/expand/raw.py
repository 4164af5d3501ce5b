"""JSON put together from pieces that are never decoded, so that nothing about them can change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw

from dataplane.core.wire.splice import string_literal

_object = msgspec.json.Decoder(dict[str, Raw])
_list = msgspec.json.Decoder(list[Raw])
_text = msgspec.json.Decoder(str)
NULL = b"null"


def members_of(written: bytes | memoryview | Raw) -> dict[str, bytes]:
    """The members of a JSON object, as they are written. Raises msgspec.DecodeError."""
    return {name: bytes(value) for name, value in _object.decode(written).items()}


def object_of(members: Mapping[str, bytes]) -> bytes:
    inside = (string_literal(name) + b":" + value for name, value in members.items())
    return b"{" + b",".join(inside) + b"}"


def array_of(items: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"


def joined(literals: Iterable[bytes]) -> bytes:
    """One string literal out of several; null and absent ones add nothing.

    A surrogate pair that was cut between two pieces is whole again. Raises msgspec.DecodeError
    for anything but a string: some providers stream lists of parts where others stream text.
    """
    pieces = [literal for literal in literals if literal and literal != NULL]
    if not all(literal.startswith(b'"') for literal in pieces):
        raise msgspec.DecodeError("a piece is no string")
    return b'"' + b"".join(piece[1:-1] for piece in pieces) + b'"'


def merged(pieces: Iterable[Mapping[str, bytes]]) -> dict[str, bytes]:
    """One object out of several that each carry a part of it, as the deltas of a stream do.

    Strings are joined, arrays put one behind the other, the members of objects put together; of
    anything else the last one counts.
    null says nothing. Raises msgspec.DecodeError where the pieces of a member do not fit together.
    """
    parts: dict[str, list[bytes]] = {}
    for piece in pieces:
        for name, value in piece.items():
            parts.setdefault(name, []).extend([value] * (value not in (b"", NULL)))
    return {name: _together(values) for name, values in parts.items()}


def _together(values: list[bytes]) -> bytes:
    said = [value for value in values if value != b'""'] or values[:1]
    kinds = {value[:1] for value in said}
    if kinds == {b"["}:
        return array_of(bytes(item) for value in said for item in _list.decode(value))
    if kinds == {b"{"}:
        return object_of({name: v for value in said for name, v in members_of(value).items()})
    if kinds & {b'"', b"["}:
        return joined(said)
    return said[-1] if said else NULL


def text_of(literal: bytes) -> str:
    """The text of a string literal. Raises msgspec.DecodeError for anything else."""
    return _text.decode(literal)


def marker_id_in(tool_input: bytes) -> str | None:
    """The id in the input of an expand call; None when it holds no string under that name.

    Raises msgspec.DecodeError when the input is not a JSON object, as when it was cut off.
    """
    written = members_of(tool_input).get("id", NULL)
    return text_of(written) if written.startswith(b'"') else None
