"""format: write a JSON tool output without white space, and JSON quoted inside it likewise.

Numbers stay as they were written and keys are sorted by code point. A document whose objects
repeat a key is left alone: sorting and merging could lose one of the members.
Source: 01-components.md 1.16 and 2.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated

import msgspec

from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import BELOW_MIN_TOKENS, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate
from dataplane.core.port.turn import Decline, Rewrite, Step, ToolOutput, Turn
from dataplane.core.text.content import Content

NOT_JSON_SHAPED = Gate("not_json_shaped", "The text does not begin with { or [.")
JSON_PARSE_FAILED = Gate(
    "json_parse_failed", "The text is not exactly one JSON document without repeated keys."
)
ENVELOPE_NOT_OBJECT = Gate(
    "envelope_not_object", "Compact already, and an array, which has no fields to open."
)
ENVELOPE_NO_EMBEDDED_JSON = Gate(
    "envelope_no_embedded_json", "Compact already, and no field holds JSON in a string."
)
ENVELOPE_INNER_NOT_SMALLER = Gate(
    "envelope_inner_not_smaller", "Compact already, and so is the JSON inside its fields."
)
ALREADY_COMPACT = Gate(
    "already_compact", "A field became shorter, but the output would not have fewer tokens."
)

_JSON_SPACE = " \t\r\n"
_SMALLEST_EMBEDDED_BYTES = 64
_PIECE_CHARS = 1 << 18
_DEEPEST = 16  # levels that are written member by member
_UNEVEN = 4  # so many times its share of an object a member may well be
_PRIVATE_USE = range(0xE000, 0xF900)
_SURROGATE = re.compile("[\ud800-\udfff]")
_sorted = msgspec.json.Encoder(order="sorted")


Members = dict[str, object] | list[object]


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output worth reformatting.", unit="tokens", ge=1)] = 50


def decide(outputs: tuple[ToolOutput, ...], config: Config, turn: Turn) -> Iterator[Step]:
    """One step for each output; the turn does not matter, for the rewrite is always the same."""
    for output in outputs:
        yield _step(output, config)


def _step(output: ToolOutput, config: Config) -> Step:
    if gate := _closed_gate(output, config):
        return Decline(gate, output.index)
    found = _outcomes.of(output.content)
    if isinstance(found, Gate):
        return Decline(found, output.index)
    return Rewrite(output.index, found)


def outcome(content: Content) -> Gate | str:
    """The smaller text of a JSON document, or why there is none."""
    document = JsonText.parse(content.text)
    if document is None:
        return JSON_PARSE_FAILED
    plain = document.compact()
    reason = _descend(document)
    candidates = (plain,) if reason else (plain, document.compact())
    best = min(map(Content, candidates), key=lambda candidate: candidate.tokens)
    return best.text if best.tokens < content.tokens else reason or ALREADY_COMPACT


class Outcomes:
    """Outcomes by digest, because an agent sends the same outputs every turn.

    All are forgotten when their texts outgrow max_chars.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._found: dict[bytes, Gate | str] = {}

    def of(self, content: Content) -> Gate | str:
        found = self._found.get(content.digest)
        if found is None:
            found = outcome(content)
            self._remember(content.digest, found)
        return found

    def _remember(self, digest: bytes, found: Gate | str) -> None:
        self._chars += len(found) if isinstance(found, str) else len(digest)
        if self._chars > self._max_chars:
            self._found.clear()
            self._chars = 0
        else:
            self._found[digest] = found


_outcomes = Outcomes(max_chars=16_000_000)


def _closed_gate(output: ToolOutput, config: Config) -> Gate | None:
    if not output.rewritable:
        return NON_TEXT_BLOCKS
    if not _is_json_shaped(output.text):
        return NOT_JSON_SHAPED
    return BELOW_MIN_TOKENS if output.tokens < config.min_tokens else None


def _is_json_shaped(text: str) -> bool:
    for start in range(0, len(text), _PIECE_CHARS):
        if piece := text[start : start + _PIECE_CHARS].lstrip(_JSON_SPACE):
            return piece.startswith(("{", "["))
    return False


def compact(text: str) -> str | None:
    """The same JSON document in its shortest spelling, None when text is not exactly one."""
    document = JsonText.parse(text)
    return None if document is None else document.compact()


def _descend(document: JsonText) -> Gate | None:
    """Compact the JSON inside the document's string fields, in place.

    Returns why nothing came of it, None when a field became shorter.
    """
    if not isinstance(document.value, dict):
        return ENVELOPE_NOT_OBJECT
    reason: Gate | None = ENVELOPE_NO_EMBEDDED_JSON
    for name, inner in document.embedded():
        shorter = compact(inner)
        if shorter is None:
            continue
        if len(_literal(shorter).encode()) < len(_literal(inner).encode()):
            document.value[name] = shorter
            reason = None
        elif reason:
            reason = ENVELOPE_INNER_NOT_SMALLER
    return reason


class JsonText:
    """One parsed document. A number is kept as its text behind a mark that occurs nowhere else.

    size: characters of the document as it was written.
    """

    def __init__(self, value: object, mark: str, size: int) -> None:
        self.value = value
        self._number = re.compile(f'"{mark}([^"]*)"')
        self._size = size

    @classmethod
    def parse(cls, text: str) -> JsonText | None:
        """None for anything but exactly one strict JSON document without repeated keys."""
        mark = _unused_character(text)
        if mark is None:
            return None
        as_written = mark.__add__
        try:
            value: object = json.loads(
                text,
                parse_int=as_written,
                parse_float=as_written,
                parse_constant=_refuse,
                object_pairs_hook=_object,
            )
        except (ValueError, RecursionError):
            return None
        return cls(value, mark, len(text))

    def compact(self) -> str:
        """The document without white space, keys sorted by code point, numbers as written."""
        marked = literal_pieces(self.value, self._size)
        return "".join(self._number.sub(r"\1", piece) for piece in marked)

    def embedded(self) -> list[tuple[str, str]]:
        """Name and decoded value of the fields that may hold a JSON document of their own."""
        fields = self.value.items() if isinstance(self.value, dict) else ()
        return [
            (name, inner)
            for name, inner in fields
            if isinstance(inner, str)
            and _is_json_shaped(inner)
            and len(_literal(inner).encode()) >= _SMALLEST_EMBEDDED_BYTES
        ]


def literal_pieces(value: object, size: int, depth: int = 0) -> Iterator[str]:
    """The literal of a value in pieces of about _PIECE_CHARS, each of whole members.

    One call over all of a long document would hold the interpreter for long. size: characters of
    the value, about.
    """
    if size <= _PIECE_CHARS or not isinstance(value, dict | list) or depth == _DEEPEST:
        yield _literal(value)
        return
    at_once = len(value) * _PIECE_CHARS // size
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield opening
    separator = ""
    for part in _parts(value, max(1, at_once)):
        yield separator
        separator = ","
        if at_once:
            yield _literal(part)[1:-1]
            continue
        if isinstance(part, dict):
            yield _literal(next(iter(part))) + ":"
        (child,) = part.values() if isinstance(part, dict) else part
        yield from literal_pieces(child, min(size, _UNEVEN * size // len(value)), depth + 1)
    yield closing


def _parts(value: Members, at_once: int) -> Iterator[Members]:
    """So many members at a time, those of an object in the order of their names."""
    names = sorted(value) if isinstance(value, dict) else []
    for start in range(0, len(value), at_once):
        if isinstance(value, list):
            yield value[start : start + at_once]
        else:
            yield {name: value[name] for name in names[start : start + at_once]}


def _literal(value: object) -> str:
    try:
        return _sorted.encode(value).decode()
    except UnicodeEncodeError:
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        # A lone surrogate has no UTF-8 form; as an escape it stays what it was.
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _unused_character(text: str) -> str | None:
    """A private-use character that text spells neither directly nor as an escape."""
    spelled = text
    if "\\u" in text:  # in pieces, for one call over all of a long text holds the interpreter long
        starts = range(0, len(text), _PIECE_CHARS)
        spelled = "".join(text[start : start + _PIECE_CHARS].lower() for start in starts)
    free = (code for code in _PRIVATE_USE if chr(code) not in spelled)
    return next((chr(code) for code in free if f"\\u{code:04x}" not in spelled), None)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("repeated key")
    return members


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


COMPONENT = Declaration(
    name="format",
    kind=Kind.REFORMAT,
    summary="Removes the white space of JSON tool outputs, one level of quoted JSON included.",
    config=Config,
    decide=decide,
    gates=(
        NON_TEXT_BLOCKS,
        NOT_JSON_SHAPED,
        BELOW_MIN_TOKENS,
        JSON_PARSE_FAILED,
        ENVELOPE_NOT_OBJECT,
        ENVELOPE_NO_EMBEDDED_JSON,
        ENVELOPE_INNER_NOT_SMALLER,
        ALREADY_COMPACT,
    ),
)
