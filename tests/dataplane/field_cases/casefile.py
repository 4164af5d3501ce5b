"""The case files of 08-field-cases.md, read into turns that can be played."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import house

Json = dict[str, Any]
FOLDER = house.ROOT / "tests" / "data" / "cases"
ORCHID = "cg_live_" + "O" * 26
BASALT = "cg_live_" + "B" * 26
KEYS = {"{{token:orchid}}": ORCHID, "{{token:basalt}}": BASALT}
HEADERS = {"x-session-id": "x-context-guru-session"}
OFF = "pipeline: []\n"
# The case names a component that this build cannot run, "without one use any preset".
INSTEAD = {"C-05": "preset: cache\n"}
MASK = "pipeline: [mask]\ncomponents: {mask: {keep_recent: 1}}\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of the client. headers: as sent, placeholders filled in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Told:
    """What the provider answers. pauses: it waits before some chunk; rest: to later requests."""

    status: int
    headers: Mapping[str, str]
    chunks: tuple[bytes, ...]
    pauses: bool = False
    rest: tuple[Told, ...] = ()

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def round(self) -> Json:
        """For the simulated provider: exactly these network writes."""
        written = [base64.b64encode(chunk).decode() for chunk in self.chunks]
        return {"raw_b64": written, "status": self.status, "headers": dict(self.headers)}


@dataclass(frozen=True, slots=True)
class Turn:
    """A request, its answer, and the seconds until the next one. told: None for no answer."""

    asked: Asked
    told: Told | None
    expect: Json
    advance_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    setup: Json
    turns: tuple[Turn, ...]

    @property
    def document(self) -> str:
        """The tenant's document; without one of the case's own, markers only where it has some."""
        if self.name in INSTEAD:
            return INSTEAD[self.name]
        config = self.setup.get("config")
        if config is not None:
            return json.dumps(config)
        return MASK if "store" in self.setup else OFF


def load(name: str) -> Case:
    """The case of this id. Raises ValueError for a member that nobody here would obey."""
    return _case(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def files() -> list[Path]:
    """Those of the wire, the prompt cache, pairing and recovery."""
    return sorted(FOLDER.glob("[WCPR]-*.json"))


def _case(file: Json) -> Case:
    _only(file, "id kind title class setup before request upstream expect")
    setup = file.get("setup", {})
    _only(setup, "config store expired fault_injection upstream_base peer")
    return Case(file["id"], setup, tuple(map(_turn, [*file.get("before", []), file])))


def _turn(written: Json) -> Turn:
    told = written["upstream"]
    answers = told is not None and "connect_error" not in told
    return Turn(
        _asked(written["request"]),
        _told(told) if answers else None,
        written.get("expect", {}),
        written.get("advance_s", 0.0),
    )


def _asked(request: Json) -> Asked:
    _only(request, "method path headers body_text body_gen")
    headers = {HEADERS.get(k, k): KEYS.get(v, v) for k, v in request["headers"].items()}
    return Asked(request["method"], request["path"], headers, _body(request))


def _body(request: Json) -> bytes:
    made: Json | None = request.get("body_gen")
    if made is not None:
        fill = made["fill_char"] * made["fill_count"]
        return bytes(made["template"].replace("@@FILL@@", fill), "utf-8")
    return bytes(request.get("body_text", ""), "utf-8")


def _told(upstream: Json) -> Told:
    _only(upstream, "status headers body_text sse_chunks_b64 delay_before_chunk_s second_call")
    streamed: list[str] | None = upstream.get("sse_chunks_b64")
    if streamed is None:
        chunks: tuple[bytes, ...] = (upstream["body_text"].encode(),)
    else:
        chunks = tuple(map(base64.b64decode, streamed))
    rest = tuple(_told(each) for each in _present(upstream.get("second_call")))
    pauses = any(upstream.get("delay_before_chunk_s", ()))
    return Told(upstream["status"], upstream["headers"], chunks, pauses, rest)


def _present(written: Json | None) -> Iterator[Json]:
    if written is not None:
        yield written


def _only(written: Json, known: str) -> None:
    if unknown := written.keys() - set(known.split()):
        raise ValueError(f"nobody obeys {sorted(unknown)}")
