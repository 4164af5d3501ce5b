"""How long one call of ours keeps every other thread from the interpreter."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from dataplane.adapters.beside.garbage import Garbage
from dataplane.adapters.node import SWITCH_INTERVAL_S
from dataplane.core.asked import Asked
from dataplane.core.components import components
from dataplane.core.config.check import check, check_document
from dataplane.core.config.layers import Context
from dataplane.core.effects import Commit, Committed, Effect, SessionView
from dataplane.core.exchange import Exchange
from dataplane.core.resource import Kill
from dataplane.core.serving.plan import Plan, plan_of
from dataplane.core.text import tokens
from dataplane.core.wire.message import Dialect
from tools.bench import bodies
from tools.bench.scenarios import DETERMINISTIC, Bench, Row

PAUSE_S = 0.0005
TIMES = 5  # the least of so many: whatever else the machine does only adds to a hold
# What the output is, its MB, and the bound in ms. Within the limit of a body, escapes included.
SHAPES = (
    ("text", bodies.one_result_body, 2, 10),
    ("JSON", bodies.json_result_body, 2, 10),
    ("text", bodies.one_result_body, 31, 100),
    ("JSON", bodies.json_result_body, 22, 100),
)


async def holding(_bench: Bench) -> list[Row]:
    garbage = Garbage()  # as in a node
    garbage.start()
    try:
        return await asyncio.to_thread(_rows)
    finally:
        garbage.stop()


def _rows() -> list[Row]:
    tokens.load()
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)  # as a node does
    try:
        return [_row(*shape) for shape in SHAPES]
    finally:
        sys.setswitchinterval(before)


def _row(kind: str, body_of: Callable[..., bytes], megabytes: int, bound: int) -> Row:
    # Another text each time: what is known of one is not found out again.
    texts = (body_of(megabytes << 20, seed=seed) for seed in range(TIMES))
    held = min(longest_ms(partial(shaped, body)) for body in texts)
    what = f"one result of {megabytes} MB {kind} shaped: longest hold of the interpreter"
    return Row(what, f"{held:.1f} ms", f"≤ {bound} ms", held <= bound)


def shaped(body: bytes) -> bytes:
    """The body as it is sent, with a store that keeps everything at once."""
    asked = Asked(Dialect.ANTHROPIC, "bench", "bench", at=time.time())
    core = Exchange(_plan(), asked, persists=True, clock=time.perf_counter).prepare(body)
    try:
        effect: Effect = next(core)
        while True:
            effect = core.send(_answer(effect))
    except StopIteration as done:
        sent: bytes = done.value.body
        return sent


def _answer(effect: Effect) -> Any:
    if isinstance(effect, Commit):
        return Committed(frozenset(payload.marker_id for payload in effect.payloads))
    return SessionView()


def _plan() -> Plan:
    effective = check(DETERMINISTIC, context=Context(components())).effective
    assert effective is not None  # noqa: S101  our own document
    values = msgspec.to_builtins(effective.document)
    return plan_of(check_document(values, components()), effective.host, Kill())


def longest_ms(work: Callable[[], object]) -> float:
    """The longest that a thread which wants the interpreter had to wait while the work was done."""
    waits: list[float] = [0.0]
    is_done = threading.Event()

    def want() -> None:
        while not is_done.is_set():
            started = time.perf_counter()
            time.sleep(PAUSE_S)
            waits.append(time.perf_counter() - started - PAUSE_S)

    wanting = threading.Thread(target=want)
    wanting.start()
    try:
        work()
    finally:
        is_done.set()
        wanting.join()
    return max(waits) * 1000
