"""What each member of `expect` means (08, "How to read the JSON files"): one function for each.

A function gets the stage, the turns played so far (the one in question last) and the member's
value, and asserts. A member that has no function here fails its case.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import httpx

from dataplane.core.tools import tool
from dataplane.core.wire.message import Dialect
from dataplane.simulator.script import markers_in
from tests.dataplane.field_cases import coverage, invariants
from tests.dataplane.field_cases.casefile import KEYS, Asked, Json
from tests.dataplane.field_cases.playing import Answer, Played, Stage

Check = Callable[[Stage, list[Played], Any], Awaitable[None] | None]
CHECKS: dict[str, Check] = {}
# Part of upstream_body, and a remark.
UNCHECKED = ("pointers", "note")
DECLARATION = b"," + tool.DECLARED[Dialect.ANTHROPIC].definition
# Of one request only: the node's own identifiers and clocks.
PER_REQUEST = ("date", "x-context-guru-request-id")


async def check(name: str, stage: Stage, played: list[Played]) -> None:
    """Everything that the newest turn of a case expects."""
    for member, value in played[-1].turn.expect.items():
        if member in UNCHECKED or (name, member) in coverage.READ_OTHERWISE:
            continue
        found = CHECKS[member](stage, played, value)
        if found is not None:
            await found


def checks(function: Check) -> Check:
    CHECKS[getattr(function, "__name__", "")] = function
    return function


def undeclared(body: bytes) -> bytes:
    """The body without the recovery tool, whose declaration does not depend on the turn.

    It is appended to the tools of every request of a session or of none (03 §4.2), so a
    case that speaks of identical bytes speaks of all others.
    """
    return body.replace(DECLARATION, b"", 1)


# ---- towards the client -----------------------------------------------------------------------


@checks
def status(_: Stage, played: list[Played], wanted: int | list[int]) -> None:
    accepted = wanted if isinstance(wanted, list) else [wanted]
    assert played[-1].answer.status in accepted


@checks
def client_body(_: Stage, played: list[Played], wanted: str) -> None:
    told = played[-1].turn.told
    assert told is not None
    second = wanted == "identical_to_second_upstream"
    assert second or wanted == "identical_to_upstream"
    assert played[-1].answer.body == (told.rest[0] if second else told).body


@checks
def client_headers(_: Stage, played: list[Played], wanted: Json) -> None:
    _headers(played[-1].answer.headers, wanted)


@checks
def body_length(_: Stage, played: list[Played], wanted: int) -> None:
    assert len(played[-1].answer.body) == wanted


@checks
def not_contains(_: Stage, played: list[Played], texts: list[str]) -> None:
    said = _decoded(played[-1].answer)
    assert [text for text in texts if text in said] == []


@checks
def client_body_after_decoding_contains(_: Stage, played: list[Played], texts: list[str]) -> None:
    said = _decoded(played[-1].answer)
    assert [text for text in texts if text not in said] == []


@checks
async def same_response_as(stage: Stage, played: list[Played], request: Json) -> None:
    headers = {_own(name): KEYS.get(value, value) for name, value in request["headers"].items()}
    other = await stage.ask(Asked(request["method"], request["path"], headers, b""))

    assert _comparable(other) == _comparable(played[-1].answer)


@checks
def first_client_byte_before_upstream_chunk(stage: Stage, played: list[Played], _: int) -> None:
    """The stepwise provider wrote each chunk after the client had some of the one before."""
    told = played[-1].turn.told
    assert told is not None
    assert told.pauses
    assert stage.provider is not stage.served.simulator


def _own(name: str) -> str:
    return "x-context-guru-session" if name == "x-session-id" else name


def _comparable(answer: Answer) -> tuple[int, list[tuple[str, str]], bytes]:
    one = answer.headers["x-context-guru-request-id"].encode()
    kept = [(n, v) for n, v in answer.headers.multi_items() if n not in PER_REQUEST]
    return answer.status, kept, answer.body.replace(one, b"")


def _decoded(answer: Answer) -> str:
    coding = answer.headers.get("content-encoding", "identity")
    assert coding in {"identity", "gzip"}
    return (gzip.decompress(answer.body) if coding == "gzip" else answer.body).decode()


def _headers(headers: httpx.Headers, wanted: Json) -> None:
    assert wanted.keys() <= {"equal", "contains", "absent", "no_value_contains"}
    for name, value in wanted.get("equal", {}).items():
        assert headers.get(name) == value
    for name, value in wanted.get("contains", {}).items():
        assert value in headers.get(name, "")
    assert [name for name in wanted.get("absent", ()) if name in headers] == []
    for value in wanted.get("no_value_contains", ()):
        assert [n for n, v in headers.multi_items() if KEYS.get(value, value) in v] == []


# ---- towards the provider ---------------------------------------------------------------------


@checks
def upstream_calls(_: Stage, played: list[Played], wanted: int) -> None:
    assert len(played[-1].sent) == wanted


@checks
def upstream_body(_: Stage, played: list[Played], wanted: str) -> None:
    turn = played[-1].turn
    if wanted == "identical":
        assert undeclared(played[-1].body()) == turn.asked.body
    else:
        assert wanted == "identical_except"
        pointers = [each for each in turn.expect["pointers"] if each != "/tools"]
        invariants.identical_except(turn.asked.body, undeclared(played[-1].body()), pointers)


@checks
def upstream_body_contains(_: Stage, played: list[Played], texts: list[str]) -> None:
    assert [text for text in texts if text.encode() not in played[-1].body()] == []


@checks
def not_contains_upstream(_: Stage, played: list[Played], texts: list[str]) -> None:
    assert [text for text in texts if text.encode() in played[-1].body()] == []


@checks
def second_upstream_body_contains(_: Stage, played: list[Played], texts: list[str]) -> None:
    assert [text for text in texts if text.encode() not in played[-1].body(1)] == []


@checks
def upstream_body_valid_json_utf8(_: Stage, played: list[Played], wanted: bool) -> None:  # noqa: FBT001
    assert wanted
    json.dumps(json.loads(played[-1].body().decode()), ensure_ascii=False).encode()


@checks
def upstream_query(_: Stage, played: list[Played], wanted: str) -> None:
    assert played[-1].sent[0].path.partition("?")[2] == wanted


@checks
def upstream_path(_: Stage, played: list[Played], wanted: str) -> None:
    assert played[-1].sent[0].path.partition("?")[0] == wanted


@checks
def upstream_headers(_: Stage, played: list[Played], wanted: Json) -> None:
    _headers(httpx.Headers(list(played[-1].sent[0].headers)), wanted)


@checks
def breakpoints_on_wire(_: Stage, played: list[Played], wanted: int) -> None:
    body = played[-1].body()
    assert body.count(b'"cache_control"') + body.count(b'"prompt_cache_breakpoint"') == wanted


@checks
def json_equal(_: Stage, played: list[Played], wanted: Json) -> None:
    body = json.loads(played[-1].body())
    assert {pointer: invariants.at(body, pointer) for pointer in wanted} == wanted


@checks
def json_type(_: Stage, played: list[Played], wanted: Json) -> None:
    body = json.loads(played[-1].body())
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    assert {each: names[type(invariants.at(body, each))] for each in wanted} == wanted


@checks
def message_count_unchanged(_: Stage, played: list[Played], wanted: bool) -> None:  # noqa: FBT001
    assert wanted
    sent = json.loads(played[-1].body())["messages"]
    assert len(sent) == len(played[-1].turn.asked.json["messages"])


@checks
def reduced_messages_stable(_: Stage, played: list[Played], wanted: bool) -> None:  # noqa: FBT001
    assert wanted
    earlier, later = (invariants.messages(turn.body()) for turn in played[-2:])
    asked = invariants.messages(played[-2].turn.asked.body)
    reduced = [n for n, message in enumerate(earlier) if message != asked[n]]
    assert reduced
    assert [n for n in reduced if later[n] != earlier[n]] == []


@checks
async def recovered_sha256_equals_of(stage: Stage, played: list[Played], pointer: str) -> None:
    text: str = invariants.at(played[-1].turn.asked.json, pointer)
    reduced: str = invariants.at(json.loads(played[-1].body()), pointer)
    (marker_id,) = markers_in(reduced.encode())
    record = played[-1].record
    assert record is not None
    headers = {**played[-1].turn.asked.headers, "x-context-guru-session": record.session}
    answer = await stage.ask(Asked("GET", f"/expand?id={marker_id}", headers, b""))
    assert hashlib.sha256(answer.body).digest() == hashlib.sha256(text.encode()).digest()


@checks
def second_upstream_invariants(_: Stage, played: list[Played], sentences: list[str]) -> None:
    for sentence in sentences:
        invariants.OF_CONTINUATION[sentence](json.loads(played[-1].body(1)))


@checks
def invariants_hold(_: Stage, played: list[Played], sentences: list[str]) -> None:
    for sentence in sentences:
        invariants.OF_TURN[sentence](played[-1])


CHECKS["invariants"] = CHECKS.pop("invariants_hold")


# ---- what is counted and kept -----------------------------------------------------------------


@checks
def row(_: Stage, played: list[Played], wanted: Json) -> None:
    record = played[-1].record
    assert {name: getattr(record, name) for name in wanted} == wanted


@checks
def usage(_: Stage, played: list[Played], wanted: Json) -> None:
    record = played[-1].record
    assert record is not None
    billed = record.usage
    assert billed is not None
    stored = {
        "fresh_input": billed.fresh_input,
        "cache_read": billed.cache_read,
        "cache_write_5m": billed.cache_write - billed.cache_write_1h,
        "cache_write_1h": billed.cache_write_1h,
        "output": billed.output,
    }
    assert {name: stored[name] for name in wanted} == wanted


@checks
def counters(_: Stage, played: list[Played], wanted: Json) -> None:
    assert wanted.keys() <= played[-1].after.keys()
    assert {name: played[-1].gained(name) for name in wanted} == wanted


@checks
def gates(_: Stage, played: list[Played], wanted: Json) -> None:
    for component, declined in wanted.items():
        gained = list(played[-1].after["components"][component]["gates"])
        counts = {
            name: played[-1].gained("components", component, "gates", name) for name in gained
        }
        assert {name: n for name, n in counts.items() if n} == declined


@checks
def gates_min(_: Stage, played: list[Played], wanted: Json) -> None:
    for component, gate, least in _pairs(wanted):
        assert played[-1].gained("components", component, "gates", gate) >= least


@checks
def component(_: Stage, played: list[Played], wanted: Json) -> None:
    for name, figure, value in _pairs(wanted):
        assert played[-1].gained("components", name, figure) == value


@checks
def component_min(_: Stage, played: list[Played], wanted: Json) -> None:
    for name, figure, least in _pairs(wanted):
        assert played[-1].gained("components", name, figure) >= least


@checks
def same_session_as_previous(_: Stage, played: list[Played], wanted: bool) -> None:  # noqa: FBT001
    sessions = {turn.record.session for turn in played[-2:] if turn.record is not None}
    assert (len(sessions) == 1) is wanted
    assert "" not in sessions


@checks
async def metrics_not_contains(stage: Stage, _: list[Played], texts: list[str]) -> None:
    page = (await stage.ask(Asked("GET", "/metrics", {}, b""))).body.decode()
    assert "cg_requests" in page
    assert [text for text in texts if text in page or text in stage.log.text] == []


@checks
def log_not_contains(stage: Stage, _: list[Played], texts: list[str]) -> None:
    assert stage.log.lines
    assert [text for text in texts if text in stage.log.text] == []


def _pairs(wanted: Json) -> Iterable[tuple[str, str, int]]:
    return [(outer, inner, n) for outer, each in wanted.items() for inner, n in each.items()]
