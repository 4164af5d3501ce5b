"""Play the turns of a case against a real node in front of a provider, and keep what happened."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.core.effects import Commit, Payload, Scope
from dataplane.core.port.declaration import Declaration, PipelineStep
from dataplane.core.port.turn import ToolOutput
from dataplane.core.port.turn import Turn as CoreTurn
from dataplane.core.record import Record
from dataplane.simulator import Simulator
from dataplane.simulator.server import Recorded
from tests.dataplane.field_cases.casefile import BASALT, ORCHID, Asked, Case, Told, Turn
from tests.dataplane.field_cases.stepwise import Stepwise, stepwise
from tests.dataplane.gateway import TenantSpec, gateway
from tests.dataplane.gateway_cases.served import Served
from tests.patience import PATIENCE_S

Decide = Callable[[tuple[ToolOutput, ...], Any, CoreTurn], Any]
START = 1_800_000_000.0
LONG_AGO = START - 365 * 86_400


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client got. body: as it came, content coding included."""

    status: int
    headers: httpx.Headers
    body: bytes


@dataclass(slots=True)
class Played:
    """One turn that was played. sent: the requests that it caused upstream. before and after:
    the tenant's figures. record: None when the request was not one to be recorded.
    """

    turn: Turn
    answer: Answer
    sent: list[Recorded]
    before: dict[str, Any]
    after: dict[str, Any]
    record: Record | None

    def body(self, number: int = 0) -> bytes:
        """One of the bodies that were sent upstream."""
        return self.sent[number].body

    def gained(self, *path: str) -> int:
        """By how much a figure grew, 0 for one that is not there."""
        return _figure(self.after, path) - _figure(self.before, path)


def _figure(figures: Any, path: tuple[str, ...]) -> int:
    for step in path:
        figures = figures.get(step, {})
    return int(figures or 0)


class Rows(Telemetry):
    """Counts as ever, and keeps each request's record."""

    def __init__(self, counting: Telemetry) -> None:
        super().__init__()
        self.records: list[Record] = []
        self._counting = counting

    def add(self, record: Record) -> None:
        self.records.append(record)
        self._counting.add(record)


class Log(logging.Handler):
    """Every line of the product, at every level."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@contextlib.contextmanager
def everything_logged() -> Any:
    root, handler = logging.getLogger("headrace"), Log()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@dataclass(slots=True)
class Stage:
    """A node with tenants orchid and basalt, its provider, and everything it said."""

    served: Served
    provider: Simulator | Stepwise
    rows: Rows
    log: Log
    now: float = START

    async def play(self, turn: Turn) -> Played:
        """One turn, at the stage's own time."""
        if isinstance(self.provider, Simulator) and turn.told is not None:
            self.provider.script(turn.told.round, *(each.round for each in turn.told.rest))
        known, rows = len(self.provider.requests), len(self.rows.records)
        before = self.served.stats("orchid")
        answer = await self.ask(turn.asked, told=turn.told)
        self.now += turn.advance_s
        records = self.rows.records[rows:]
        sent = self.provider.requests[known:]
        after = self.served.stats("orchid")
        return Played(turn, answer, sent, before, after, records[-1] if records else None)

    async def ask(self, asked: Asked, *, told: Told | None = None) -> Answer:
        """Send one request and read its answer as it comes."""
        headers = {**asked.headers, "x-headrace-now": str(self.now)}
        url = self.served.gateway.url + asked.path
        content = asked.body or None
        async with self.served.http.stream(
            asked.method, url, content=content, headers=headers
        ) as response:
            body = b""
            async for chunk in response.aiter_raw():
                body += chunk
                self._step(told, len(body))
        await self.served.settled()
        return Answer(response.status_code, response.headers, body)

    def _step(self, told: Told | None, received: int) -> None:
        """The provider goes on once the client has something of what it wrote."""
        if isinstance(self.provider, Stepwise) and told is not None and received:
            self.provider.step()


@contextlib.asynccontextmanager
async def staged(
    case: Case, directory: Path, simulator: Simulator, **settings: Any
) -> AsyncIterator[Stage]:
    """The stage of a case, its store and its faults in place."""
    async with contextlib.AsyncExitStack() as stack:
        told = case.turns[-1].told
        provider: Simulator | Stepwise = simulator
        if told is not None and told.pauses:
            provider = await stack.enter_async_context(stepwise(told))
        specs = [
            TenantSpec("orchid", ORCHID, case.document, "po"),
            TenantSpec("basalt", BASALT, case.document, "pb"),
        ]
        running = await stack.enter_async_context(
            gateway(
                directory,
                specs,
                case.setup.get("upstream_base", provider.url),
                test_clock=True,
                **settings,
            )
        )
        client = httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S)
        http = await stack.enter_async_context(client)
        log = stack.enter_context(everything_logged())
        running.node.parts.books.telemetry = rows = Rows(running.node.telemetry)
        stage = Stage(Served(running, simulator, http), provider, rows, log)
        await _set_up(case, stage)
        yield stage


async def _set_up(case: Case, stage: Stage) -> None:
    for entry in case.setup.get("store", []):
        await stash(stage, entry["id"], entry["text"], entry["session"])
    for marker_id in case.setup.get("expired", []):
        await stash(stage, marker_id, "gone", "s1", at=LONG_AGO)
    fault = case.setup.get("fault_injection")
    if fault is not None:
        stage.served.use(*_failing(stage, **fault), slug="orchid")


async def stash(
    stage: Stage, marker_id: str, text: str, session: str, *, at: float = START
) -> None:
    """Keep an original of tenant orchid under an id of the case's choosing."""
    scope = Scope("ten_orchid", "po", session)
    kept = Payload(marker_id, text.encode())
    committed = await stage.served.gateway.node.store.commit(Commit(scope, at, (kept,), ()))
    assert committed.durable == {marker_id}


def _failing(stage: Stage, *, component: str, raise_on: str) -> list[PipelineStep]:
    """Orchid's pipeline, in which one component fails as soon as it meets a text."""
    plan = stage.served.gateway.node.snapshots.tenants["ten_orchid"].plan
    return [
        step._replace(declaration=_raising(step.declaration, raise_on))
        if step.declaration.name == component
        else step
        for step in plan.steps
    ]


def _raising(declaration: Declaration, text: str) -> Declaration:
    assert declaration.decide is not None
    decide = declaration.decide

    def raising(outputs: tuple[ToolOutput, ...], config: Any, turn: CoreTurn) -> Any:
        if any(text in output.text for output in outputs):
            raise RuntimeError("invented fault")
        return decide(outputs, config, turn)

    return replace(declaration, decide=raising)
