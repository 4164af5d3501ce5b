"""Scripts: what the simulated provider shall answer, round by round. Format: docs/simulator.md."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec

from dataplane.simulator.problem import ScriptError

Json = dict[str, Any]
Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0)]

MARKER = re.compile(rb"(?:<|\\u003[cC]){2}cg:([A-Za-z0-9_-]{1,64})(?:>|\\u003[eE]){2}")
_REMEMBERED_SCRIPTS = 10_000
_FIRST_FAILURE = 400


class ErrorEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error inside a stream. after: events sent before it; all but the last ones if absent."""

    type: str = "overloaded_error"
    message: str = "Overloaded"
    after: Count | None = None


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer. The keys are described in docs/simulator.md; everything has a default."""

    content: str | list[Json] | None = None
    stop_reason: str | None = None
    usage: Json = msgspec.field(default_factory=dict)
    n: Positive | None = None
    events: Positive | None = None
    delta_chars: Positive = 24
    status: Annotated[int, msgspec.Meta(ge=200, le=599)] = 200
    headers: dict[str, str | list[str]] = msgspec.field(default_factory=dict)
    error: Json | None = None
    body: Any = None
    raw_b64: list[str] | None = None
    error_event: ErrorEvent | None = None
    head_delay_ms: Milliseconds = 0
    gap_ms: Milliseconds | None = None
    chunk_bytes: Positive | None = None
    cut_after_bytes: Count | None = None
    cut_after_events: Count | None = None

    @property
    def is_failure(self) -> bool:
        return self.status >= _FIRST_FAILURE

    @property
    def is_cut(self) -> bool:
        return self.cut_after_bytes is not None or self.cut_after_events is not None


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rounds for consecutive requests that carry the same id; the last one repeats."""

    rounds: Annotated[list[Round], msgspec.Meta(min_length=1)]
    id: str = ""


_SCRIPT = msgspec.json.Decoder(Script)


def script_header(*rounds: Json | Round, id: str = "") -> str:  # noqa: A002
    """The value of `x-sim-script` for these rounds: compact JSON in ASCII."""
    text = msgspec.json.encode({"id": id, "rounds": [*rounds]}).decode()
    return "".join(
        mark if mark.isascii() else "".join(f"\\u{unit:04x}" for unit in _utf16(mark))
        for mark in text
    )


def _utf16(mark: str) -> Sequence[int]:
    return memoryview(mark.encode("utf-16-le")).cast("H").tolist()


def as_round(wanted: Json | Round) -> Round:
    """A round from its JSON form; a misspelt key is an error."""
    if isinstance(wanted, Round):
        return wanted
    try:
        return msgspec.convert(wanted, Round)
    except msgspec.ValidationError as error:
        raise ScriptError(f"round: {error}") from None


class Scripts:
    """Which round comes next: of the script that a request carries, else of the queue."""

    def __init__(self) -> None:
        self._queue: deque[Round] = deque()
        self._taken: OrderedDict[str, int] = OrderedDict()

    def queue(self, *rounds: Json | Round) -> None:
        """Answer the next requests that carry no script with these rounds, one each."""
        self._queue.extend(as_round(wanted) for wanted in rounds)

    def take(self, header: str | None) -> Round | None:
        """The round for a request with this `x-sim-script`; None: an answer of our own."""
        if header is None:
            return self._queue.popleft() if self._queue else None
        script = _decoded(header)
        if not script.id:
            return script.rounds[0]
        taken = self._taken.pop(script.id, 0)
        self._taken[script.id] = taken + 1
        if len(self._taken) > _REMEMBERED_SCRIPTS:
            self._taken.popitem(last=False)
        return script.rounds[min(taken, len(script.rounds) - 1)]

    def clear(self) -> None:
        """Forget the queue and how far each script has come."""
        self._queue.clear()
        self._taken.clear()


def _decoded(header: str) -> Script:
    try:
        script = _SCRIPT.decode(header.encode("latin-1"))
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ScriptError(f"x-sim-script: {error}") from None
    if len(script.rounds) > 1 and not script.id:
        raise ScriptError("x-sim-script: several rounds need an id")
    return script


def markers_in(raw: bytes | memoryview) -> list[str]:
    """The ids of the markers in this JSON, each once, in order of appearance."""
    return list(dict.fromkeys(found.decode() for found in MARKER.findall(raw)))


def with_markers(value: Any, markers: Callable[[], list[str]]) -> Any:
    """The value with every {"$marker": n} replaced by the n-th marker id of the request."""
    if isinstance(value, list):
        return [with_markers(element, markers) for element in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$marker"}:
        return _marker(markers(), value["$marker"])
    return {name: with_markers(member, markers) for name, member in value.items()}


def _marker(found: list[str], position: object) -> str:
    try:
        return found[position]  # type: ignore[call-overload, no-any-return]
    except (IndexError, TypeError):
        raise ScriptError(
            f"$marker {position!r}: the request's messages carry {len(found)} marker(s)"
        ) from None
