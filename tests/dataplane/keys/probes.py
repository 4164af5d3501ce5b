"""What a document does, as far as one can tell from outside: the same code that a node runs.

Each probe takes the text of a document and answers with what became of one and the same scene.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dataplane.adapters.beside.observing import Job, Observer
from dataplane.adapters.drive import drive, performer
from dataplane.adapters.stores import MemoryStore, StoreSet
from dataplane.adapters.stores.choice import chosen
from dataplane.core.asked import Asked
from dataplane.core.components import components
from dataplane.core.config.check import check, check_document
from dataplane.core.config.layers import Context
from dataplane.core.config.presets import BUILT_IN
from dataplane.core.config.resolve import Effective
from dataplane.core.effects import Commit, OpenTurn, PastTurn, Payload, Recall, Scope, SessionView
from dataplane.core.exchange import Exchange
from dataplane.core.expand.relay import Call
from dataplane.core.keepalive.gates import Ended, closed_gate
from dataplane.core.prices.money import PriceCard, Sale
from dataplane.core.resource import Kill
from dataplane.core.serving.plan import Plan, plan_of
from dataplane.core.tools import tool
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.usage import Usage
from tests.dataplane.core.build import anthropic_body, run_core

AT = 1_800_000_000.0
PROSE = "\n".join(f"line {number:04d} of what a command printed" for number in range(400))
SPACED = json.dumps(
    {"rows": [{"id": number, "name": f"n{number}"} for number in range(9)]}, indent=8
)
OUTPUTS = ("a short answer of a tool", PROSE, SPACED, PROSE, "last words " * 60, "ok", "ok", "ok")
Scene = Mapping[str, Any]


def text_of(document: Mapping[str, Any]) -> str:
    return json.dumps(document)  # JSON is YAML


def effective(document: Mapping[str, Any]) -> Effective:
    checked = check(text_of(document), context=Context(components(), BUILT_IN))
    assert checked.effective is not None, checked.problems
    return checked.effective


def plan(document: Mapping[str, Any]) -> Plan:
    found = effective(document)
    return plan_of(check_document(found.document, components()), found.host, Kill())


def sent(document: Mapping[str, Any], **scene: Any) -> object:
    """The body that goes to the provider, and why each output was left alone.

    scene: tools and idle_s; with idle_s everything stood there on a turn that long ago.
    """
    asked = Asked(Dialect.ANTHROPIC, at=AT, window_of=PriceCard({}).window)
    exchange = Exchange(plan(document), asked, persists=True)
    mark = {"type": "ephemeral"}
    body = anthropic_body(*OUTPUTS, tools=scene.get("tools", ("bash",)), cache_control=mark)
    idle_s = scene.get("idle_s")
    before = PastTurn(17, AT - idle_s, 300, offered=True) if idle_s else None
    outgoing, _ = run_core(exchange.prepare(body), SessionView(previous=before))
    gates = [dict(step.gates) for step in outgoing.report.steps] if outgoing.report else []
    return outgoing.body, outgoing.bypassed, gates


def warm(document: Mapping[str, Any]) -> object:
    return sent(document, idle_s=10.0)


def cold(document: Mapping[str, Any]) -> object:
    return sent(document, idle_s=1000.0)


def without_tools(document: Mapping[str, Any]) -> object:
    return sent(document, tools=())


def components_in_force(document: Mapping[str, Any]) -> object:
    return [step.declaration.name for step in plan(document).steps]


def kept_alive(document: Mapping[str, Any]) -> object:
    """The gate that keeps a thread of 30,000 cached tokens from being kept alive, None for none."""
    turn, before = (
        OpenTurn(Scope("t", "p", "s"), 3, AT, 300, offered=True),
        PastTurn(1, AT, 300, offered=True),
    )
    rates = PriceCard({}).rates("claude-sonnet-5", Sale(at=AT))
    usage = Usage(fresh_input=10, cache_read=30_000, output=5)
    ended = Ended(
        Dialect.ANTHROPIC,
        succeeded=True,
        turn=turn,
        previous=before,
        usage=usage,
        rates=rates,
        sent=anthropic_body("out"),
    )
    return closed_gate(ended, plan(document).cache)


def stored(document: Mapping[str, Any]) -> object:
    """Which backend, and what became of twenty originals of 1 KB in ten sessions."""
    return asyncio.run(_stored(effective(document).document["store"]))


async def _stored(store: Mapping[str, Any]) -> object:
    backend, limits = chosen(store)
    with tempfile.TemporaryDirectory() as folder:
        everywhere = StoreSet(Path(folder))
        everywhere.configure("t", backend)
        where = type(everywhere.backend_for("t")).__name__
    memory = MemoryStore()
    memory.set_limits("t", limits)
    for number in range(20):
        scope = Scope("t", "p", f"s{number % 10}")
        await memory.open_turn(OpenTurn(scope, 3, AT + number, 300, offered=True))
        payload = Payload(f"{number:016x}", bytes(1024))
        await memory.commit(Commit(scope, AT + number, (payload,), ()))
    later = [
        OpenTurn(Scope("t", "p", f"s{number}"), 5, AT + 50, 300, offered=False)
        for number in range(10)
    ]
    known = [await memory.open_turn(turn) for turn in later]
    lasting = [
        (
            await memory.recall(Recall(Scope("t", "p", "s0"), f"{19:016x}", AT + after, keep=False))
        ).found
        for after in (100, 1000)
    ]
    stats = memory.stats("t")
    return where, stats.stash_live, stats.stash_refused, [v.previous for v in known], lasting


def asked_back(document: Mapping[str, Any]) -> object:
    """One text of a session is asked back, by its key and by another one of the tenant; then a
    second session of the first key sends the same outputs.
    """
    return asyncio.run(_asked_back(plan(document)))


async def _asked_back(wanted: Plan) -> object:
    perform = performer(MemoryStore())

    async def talk(key: str, session: str) -> tuple[Exchange, frozenset[str]]:
        asked = Asked(Dialect.ANTHROPIC, "t", key, AT, session_header=session)
        exchange = Exchange(wanted, asked, persists=True)
        outgoing = await drive(exchange.prepare(anthropic_body(*OUTPUTS)), perform)
        return exchange, outgoing.emitted

    first, emitted = await talk("alice", "s1")
    call = Call("c1", tool.EXPAND, max(emitted))
    stranger = Exchange(wanted, Asked(Dialect.ANTHROPIC, "t", "bob", AT), persists=True)
    await drive(stranger.prepare(anthropic_body("ok")), perform)
    given = []
    for each in (first, stranger):
        given.append(await drive(each.answer([call]), perform))
        await drive(each.taken(), perform)  # the provider has the continuation
    return given, (await talk("alice", "s2"))[1]


class Told:
    """Counts what an observer does with a job."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()

    def observe_job(self, _: str, what: str) -> None:
        self.counted[what] += 1


def observed(document: Mapping[str, Any]) -> object:
    """How many of four requests at once wait, are dropped and are being worked on."""
    return asyncio.run(_observed(plan(document)))


async def _observed(wanted: Plan) -> object:
    told = Told()
    with tempfile.TemporaryDirectory() as folder:
        observer = Observer(StoreSet(Path(folder)), told)  # type: ignore[arg-type]
        for number in range(4):
            body = anthropic_body(f"{number}")
            observer.offer(Job(Asked(Dialect.ANTHROPIC, "t"), wanted, body, None))
        counted, running = dict(told.counted), len(observer._tasks)
        await observer.stop()
    return counted, running
