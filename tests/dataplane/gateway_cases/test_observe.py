"""Mode observe on a running node: requests untouched, measured beside (03 §7.2, 10.10)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from dataplane.core.components import mask
from dataplane.core.components.mask import Config
from dataplane.core.port.declaration import PipelineStep
from dataplane.core.port.turn import Step, ToolOutput, Turn
from dataplane.core.resource import Kill
from dataplane.simulator import Simulator
from tests.dataplane.gateway import gateway, tenant_resource, tenants
from tests.dataplane.gateway_cases.served import (
    AGENT,
    LONG,
    MASK_ALL,
    Serve,
    Served,
    with_output,
)
from tests.dataplane.telemetry.reading import replay
from tests.patience import PATIENCE_S, until

OBSERVE = MASK_ALL + "mode: observe\n"
SHADOW = Path("state/shadow/tenants/ten_acme/store.db")
LIVE = Path("state/tenants/ten_acme/store.db")


async def measured(served: Served, requests: int, what: str = "processed") -> dict[str, Any]:
    """The statistics once so many requests were measured."""
    await until(lambda: served.stats().get("observe_queue", {}).get(what, 0) >= requests)
    return served.stats()


def rows(file: Path, table: str) -> list[Any]:
    if not file.exists():
        return []
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608  our names


async def test_case_136_a_request_that_would_shrink_is_sent_as_it_came(
    serve: Serve, tmp_path: Path
) -> None:
    body = with_output(LONG).replace(b'"max_tokens": 64', b'"max_tokens" :  64, "unknown":1e2')

    async with serve(OBSERVE) as served:
        answer = await served.post(body, x_context_guru_session="s")
        stats = await measured(served, 1)
        marker = rows(tmp_path / "0" / SHADOW, "stash")[0][0]
        headers = AGENT | {"x-context-guru-session": "s"}
        expanded = await served.send("GET", f"/expand?id={marker}", headers=headers)

    assert answer.status_code == 200
    assert served.sent == [body]
    assert stats["potential_saved_tokens"] > 0
    assert stats["saved_tokens"] == stats["tokens_before"] == stats["requests"] == 0
    assert stats["components"]["mask"]["verdict"] == "idle"
    assert stats["potential_components"]["mask"]["verdict"] == "acted"
    assert [rows(tmp_path / "0" / LIVE, table) for table in ("stash", "frozen")] == [[], []]
    assert expanded.status_code == 404


async def test_case_136_the_projected_figures_belong_to_each_other(serve: Serve) -> None:
    async with serve(OBSERVE) as served:
        await served.post(with_output(LONG), x_context_guru_session="s")
        stats = await measured(served, 1)

    before, after = stats["actual_baseline_tokens"], stats["projected_optimized_tokens"]
    assert stats["observe_hypothetical_requests"] == 1
    assert stats["potential_saved_tokens"] == before - after > 0
    assert stats["potential_savings_pct"] == round((before - after) / before * 100, 4)
    assert stats["potential_overhead_ms_avg"] > 0
    assert stats["cg_added_ms_avg"] == 0
    assert "potential_*" in stats["observe_notice"]
    assert "observe_llm_notice" not in stats
    assert (stats["mode"], stats["sync_enforced"], stats["bypassed"]) == (
        "observe", 0, {"observe": 1}
    )  # fmt: skip
    assert stats["observe_queue"] == {
        "queued": 1, "pending": 0, "processed": 1, "dropped": 0, "errors": 0, "coalesced": 0
    }  # fmt: skip


async def test_case_75_nothing_is_declared_to_the_model(serve: Serve) -> None:
    async with serve(OBSERVE + "inject_expand: always\n") as served:
        await served.post(with_output(LONG), x_context_guru_session="s")
        await measured(served, 1)

    assert b"context_guru" not in served.sent[0]


async def test_the_kill_switch_measures_as_the_document_would(serve: Serve) -> None:
    async with serve(specs=tenants(MASK_ALL, kill=Kill(observe=True))) as served:
        await served.post(with_output(LONG), x_context_guru_session="s")
        stats = await measured(served, 1)

    assert served.sent == [with_output(LONG)]
    assert stats["potential_saved_tokens"] > 0


async def test_the_forced_model_is_an_order_about_routing_and_stays(serve: Serve) -> None:
    async with serve(OBSERVE, force_model="claude-haiku-4-5") as served:
        await served.post(with_output(LONG), x_context_guru_session="s")

    forced = with_output(LONG).replace(b'"claude-sonnet-5"', b'"claude-haiku-4-5"')
    assert served.sent == [forced]


async def test_a_request_that_asks_for_a_bypass_is_not_measured_either(serve: Serve) -> None:
    async with serve(OBSERVE) as served:
        await served.post(with_output(LONG), x_context_guru_bypass="true")
        await served.post(with_output(LONG + "!"), x_context_guru_session="s")
        stats = await measured(served, 1)

    assert stats["observe_queue"]["queued"] == 1
    assert stats["bypassed"] == {"header": 1, "observe": 1}


async def test_the_projection_of_a_session_is_what_sync_makes_of_it(serve: Serve) -> None:
    document = "pipeline: [dedup, mask]\ncomponents: {mask: {keep_recent: 2}}\n"

    async with serve(document, test_clock=True) as served:
        await replay(served, turns=20)
        real = served.stats()
    async with serve(document + "mode: observe\n", test_clock=True) as served:
        await replay(served, turns=20)
        projected = await measured(served, 20)

    assert real["saved_tokens"] > 0
    assert projected["actual_baseline_tokens"] == real["tokens_before"]
    assert projected["projected_optimized_tokens"] == real["tokens_after"]
    for name, component in projected["potential_components"].items():
        for field in ("runs", "acted_fresh", "acted_replay", "saved_tokens_unique", "gates"):
            assert component[field] == real["components"][name][field], (name, field)


async def test_what_was_projected_is_replayed_after_a_restart(
    tmp_path: Path, simulator: Simulator
) -> None:
    again = with_output(LONG).replace(b'"tools"', b'"temperature": 1, "tools"')

    for body in (with_output(LONG), again):
        async with (
            gateway(tmp_path, tenants(OBSERVE), simulator.url) as running,
            httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
        ):
            served = Served(running, simulator, http)
            await served.post(body, x_context_guru_session="s")
            stats = await measured(served, 1)

    found = stats["potential_components"]["mask"]
    assert (found["acted_replay"], found["acted_fresh"]) == (1, 0)


async def test_a_tenant_that_is_purged_loses_its_projections_too(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(OBSERVE) as served:
        await served.post(with_output(LONG), x_context_guru_session="s")
        await measured(served, 1)
        purged = tenant_resource(tenants(OBSERVE, status="purged")[0], version=2)
        served.gateway.node.snapshots._apply(purged)
        await until(lambda: not (tmp_path / "0" / SHADOW).exists())


# ---- the queue ---------------------------------------------------------------------------------


class Stuck:
    """A component whose thread waits until it is let go."""

    def __init__(self) -> None:
        self.entered, self.go = threading.Event(), threading.Event()

    def decide(self, outputs: tuple[ToolOutput, ...], config: Config, turn: Turn) -> Iterable[Step]:
        self.entered.set()
        self.go.wait()
        return mask.COMPONENT.decide(outputs, config, turn) if mask.COMPONENT.decide else ()

    @property
    def step(self) -> PipelineStep:
        return PipelineStep(dataclasses.replace(mask.COMPONENT, decide=self.decide), Config())


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    found = Stuck()
    yield found
    found.go.set()


async def numbered(served: Served, numbers: range) -> None:
    for number in numbers:
        answer = await served.post(with_output(f"{number}"), x_context_guru_session=f"s{number}")
        assert answer.status_code == 200


async def test_case_137_a_full_queue_drops_and_requests_go_on(serve: Serve, stuck: Stuck) -> None:
    async with serve(OBSERVE) as served:
        served.use(stuck.step)
        await numbered(served, range(1))
        await asyncio.to_thread(stuck.entered.wait)
        await numbered(served, range(1, 260))
        full = served.stats()["observe_queue"]
        stuck.go.set()
        stats = await measured(served, 257)

    assert (full["queued"], full["pending"], full["processed"], full["dropped"]) == (
        257, 257, 0, 3
    )  # fmt: skip
    assert stats["all_requests"] == 260
    assert stats["observe_queue"]["pending"] == 0
    assert stats["observe_hypothetical_requests"] == 257


async def test_a_request_that_is_sent_again_while_it_waits_is_measured_once(
    serve: Serve, stuck: Stuck
) -> None:
    async with serve(OBSERVE) as served:
        served.use(stuck.step)
        await numbered(served, range(1))
        await asyncio.to_thread(stuck.entered.wait)
        for _ in range(3):
            await served.post(with_output(LONG), x_context_guru_session="s")
        stuck.go.set()
        stats = await measured(served, 2)

    assert (stats["observe_queue"]["queued"], stats["observe_queue"]["coalesced"]) == (2, 2)
    assert stats["all_requests"] == 4


async def test_a_stuck_worker_does_not_hold_up_the_end(serve: Serve, stuck: Stuck) -> None:
    async with serve(OBSERVE) as served:
        served.use(stuck.step)
        await numbered(served, range(3))
        await asyncio.to_thread(stuck.entered.wait)
    assert not stuck.go.is_set()

    queue = served.stats()["observe_queue"]
    assert (queue["queued"], queue["pending"], queue["dropped"]) == (3, 0, 3)


async def test_a_fault_of_the_projection_is_counted_and_costs_nothing_else(serve: Serve) -> None:
    async with serve(OBSERVE) as served:
        served.use(cast("PipelineStep", None))
        answer = await served.post(with_output(LONG), x_context_guru_session="s")
        stats = await measured(served, 1, "errors")

    assert answer.status_code == 200
    assert stats["observe_hypothetical_requests"] == 0
