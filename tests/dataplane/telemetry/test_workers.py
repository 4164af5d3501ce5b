"""Several workers on one host: each speaks of itself, and any of them of all (08 §D-07)."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
import pytest

from dataplane.adapters.figures.sheets import (
    Count,
    Sheet,
    Workers,
    decode,
    encode,
    of_tenant,
    summed,
)
from dataplane.adapters.figures.totals import Totals
from dataplane.adapters.figures.workers import STALE_S, WorkerBoard
from dataplane.adapters.stores import MemoryStore, OffStore, SqliteStore
from dataplane.simulator import Simulator
from tests.dataplane.gateway import TA, TB, tenants
from tests.dataplane.gateway_cases.served import LONG, with_output
from tests.dataplane.recovery_cases.nodes import NodeProcess, node_process
from tests.dataplane.telemetry.reading import value
from tests.patience import PATIENCE_S, blocking_until

OPENS = """
import sys
from pathlib import Path
from dataplane.adapters.figures.workers import WorkerBoard
board = WorkerBoard(Path(sys.argv[1]), "other")
board.open()
input()
"""
LOOK_EVERY_S = 0.1
NOTHING = OffStore().stats()


def sheet(boot_id: str = "me", *, requests: int = 0, **facts: Any) -> Sheet:
    totals = Totals(counts=Counter(requests=requests))
    at = facts.pop("at", time.time())
    return Sheet(boot_id, at, 1.0, Count(totals, NOTHING), **facts)


def opened(directory: Path, boot_id: str = "other") -> WorkerBoard:
    """Of a worker that lives. Two of this process have one process id, as the first processes of
    two containers have.
    """
    made = WorkerBoard(directory, boot_id)
    made.open()
    return made


@pytest.fixture
def board(tmp_path: Path) -> WorkerBoard:
    return opened(tmp_path, "me")


# ---- the files ---------------------------------------------------------------------------------


def test_what_a_worker_publishes_is_what_every_worker_reads(
    board: WorkerBoard, tmp_path: Path
) -> None:
    board.publish(sheet(requests=3))
    other = opened(tmp_path)
    other.publish(sheet("other", requests=4))

    found = board.read()

    assert [each.boot_id for each in found.living] == ["me", "other"]
    assert summed(found).count.totals.counts["requests"] == 7
    assert sorted(tmp_path.glob("*.json")) == [tmp_path / "me.json", tmp_path / "other.json"]


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"at": time.time() - STALE_S - 60}, id="silent-for-long"),
        pytest.param({"is_stopped": True}, id="stopped"),
    ],
)
def test_a_worker_that_ended_counts_and_is_not_busy(
    board: WorkerBoard, tmp_path: Path, facts: dict[str, Any]
) -> None:
    board.publish(sheet(requests=3, inflight=1))
    other = opened(tmp_path)
    other.publish(sheet("other", requests=4, inflight=9, **facts))

    whole = summed(board.read())

    assert (whole.count.totals.counts["requests"], whole.inflight) == (7, 1)


def test_a_worker_whose_process_is_gone_has_ended_at_once(
    board: WorkerBoard, tmp_path: Path
) -> None:
    board.publish(sheet())
    with subprocess.Popen([sys.executable, "-c", OPENS, str(tmp_path)], stdin=PIPE) as other:
        blocking_until((tmp_path / "other.lock").exists)
        WorkerBoard(tmp_path, "other").publish(sheet("other"))
        blocking_until(lambda: len(board.read().living) == 2)
        other.kill()

    assert len(board.read().gone) == 1


def test_whoever_starts_alone_begins_anew(tmp_path: Path) -> None:
    WorkerBoard(tmp_path, "before").publish(sheet("before", requests=3))

    following = opened(tmp_path, "next")

    assert following.read() == Workers(())


def test_a_worker_that_is_silent_for_long_keeps_its_file_as_long_as_it_lives(
    board: WorkerBoard, tmp_path: Path
) -> None:
    board.publish(sheet(requests=3, at=time.time() - STALE_S - 60))

    following = opened(tmp_path, "next")

    assert [each.count.totals.counts["requests"] for each in following.read().gone] == [3]


def test_whoever_starts_beside_others_leaves_what_was_counted(
    board: WorkerBoard, tmp_path: Path
) -> None:
    living = opened(tmp_path, "living")
    living.publish(sheet("living"))
    WorkerBoard(tmp_path, "gone").publish(sheet("gone", is_stopped=True, requests=5))

    WorkerBoard(tmp_path, "next").open()

    assert summed(board.read()).count.totals.counts["requests"] == 5


def test_the_last_one_to_stop_takes_the_files_away(board: WorkerBoard, tmp_path: Path) -> None:
    other = opened(tmp_path)
    other.publish(sheet("other"))

    board.close(sheet(requests=3))
    assert summed(other.read()).count.totals.counts["requests"] == 3
    other.close(sheet("other"))

    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_not_counted(board: WorkerBoard, tmp_path: Path) -> None:
    board.publish(sheet(requests=3))
    (tmp_path / "damaged.json").write_bytes(b'{"boot_id": 3')
    (tmp_path / "strange.json").write_bytes(b'{"boot_id":"x","count":{"totals":{"counts":[]}}}')

    assert summed(board.read()).count.totals.counts["requests"] == 3


def test_a_directory_that_cannot_be_written_costs_no_request(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    board = WorkerBoard(tmp_path / "file" / "workers", "me")

    board.open()
    board.publish(sheet())
    board.close(sheet())

    assert board.read() == Workers((), ())


# ---- the sums ----------------------------------------------------------------------------------


def test_a_sheet_is_the_same_after_it_was_written() -> None:
    written = sheet(requests=3, refusals={"ten_a": Counter(auth=1)}, nacks=Counter(build_failed=2))
    written.count.totals.observe("added", 3.0)
    written.count.totals.component("mask").gates["cached_prefix"] += 1

    assert decode(encode(written), Sheet) == written


def test_a_store_that_the_workers_share_is_not_counted_twice(tmp_path: Path) -> None:
    def store(backend: Any, **held: int) -> Workers:
        stats = type(NOTHING)(**{**_fields(backend.stats()), **held})
        counts = [Count(Totals(), stats) for _ in range(2)]
        return Workers(tuple(Sheet(str(n), 1.0, 1.0, count) for n, count in enumerate(counts)))

    shared = summed(store(SqliteStore(tmp_path), stash_live=5, stash_refused=2)).count.store
    apart = summed(store(MemoryStore(), stash_live=5, stash_refused=2)).count.store

    assert (shared.stash_live, shared.stash_refused) == (5, 4)
    assert (apart.stash_live, apart.stash_refused) == (10, 4)


def _fields(stats: Any) -> dict[str, Any]:
    return {name: getattr(stats, name) for name in type(stats).__dataclass_fields__}


def test_a_tenant_that_no_worker_knows_has_counted_nothing() -> None:
    none = Count(Totals(), NOTHING)

    assert of_tenant(Workers((sheet(requests=3),)), "ten_new", none) == none


# ---- real processes ----------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def two_workers(directory: Path, upstream_url: str) -> AsyncIterator[list[NodeProcess]]:
    workers = [node_process(directory, tenants(), upstream_url) for _ in range(2)]
    try:
        for worker in workers:
            await worker.start()
        for worker in workers:
            await worker.wait_until_ready()
        yield workers
    finally:
        for worker in workers:
            await worker.kill()


async def send(http: httpx.AsyncClient, worker: NodeProcess, count: int, key: str = TA) -> None:
    headers = {"x-context-guru-token": key, "x-api-key": "sk-agent"}
    for number in range(count):
        answer = await http.post(
            f"{worker.url}/v1/messages",
            content=with_output(LONG),
            headers={**headers, "x-context-guru-session": f"s{number}"},
        )
        assert answer.status_code == 200


async def host_stats(http: httpx.AsyncClient, worker: NodeProcess, key: str = "") -> dict[str, Any]:
    headers = {"x-context-guru-token": key} if key else {}
    answer = await http.get(f"{worker.url}/stats?scope=host", headers=headers)
    found: dict[str, Any] = answer.json()
    return found


async def shown(
    http: httpx.AsyncClient, worker: NodeProcess, *, requests: int, key: str = "", living: int = 2
) -> dict[str, Any]:
    """The host's figures as soon as they are these; what came before must not have been more."""
    before = 0
    async with asyncio.timeout(PATIENCE_S):
        while True:
            stats = await host_stats(http, worker, key)
            assert before <= stats["requests"] <= requests
            before = stats["requests"]
            if before == requests and stats["workers"]["living"] == living:
                return stats
            await asyncio.sleep(LOOK_EVERY_S)


async def host_requests(http: httpx.AsyncClient, worker: NodeProcess) -> float:
    page = (await http.get(f"{worker.url}/metrics?scope=host")).text
    return value(page, "cg_requests_total")


async def test_case_d_07_every_worker_says_the_same_of_the_host_and_never_less(
    tmp_path: Path, simulator: Simulator
) -> None:
    async with (
        two_workers(tmp_path, simulator.url) as (one, two),
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        await send(http, one, 5)
        await send(http, two, 4)
        await send(http, two, 3, key=TB)
        seen = [await host_requests(http, worker) for worker in (one, two) * 10]
        whole = await shown(http, one, requests=12)

        assert seen == sorted(seen)
        assert (await shown(http, two, requests=12))["workers"] == {"living": 2, "gone": 0}
        assert await host_requests(http, two) == 12
        assert (await shown(http, one, requests=9, key=TA))["scope"] == "host"
        assert (await shown(http, one, requests=3, key=TB))["tenant"] == "ten_birch"
        own = [(await http.get(f"{worker.url}/stats")).json() for worker in (one, two)]
        assert [stats["requests"] for stats in own] == [5, 7]
        assert whole["tokens_before"] == sum(stats["tokens_before"] for stats in own)


async def test_case_d_07_a_worker_that_is_killed_and_replaced_takes_nothing_off_the_totals(
    tmp_path: Path, simulator: Simulator
) -> None:
    async with (
        two_workers(tmp_path, simulator.url) as (one, two),
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        await send(http, one, 2)
        await send(http, two, 3)
        await shown(http, one, requests=5)
        await two.kill()
        bereft = await shown(http, one, requests=5, living=1)
        await two.start()
        await two.wait_until_ready()
        await send(http, two, 1)
        whole = await shown(http, one, requests=6)

        assert bereft["workers"] == {"living": 1, "gone": 1}
        assert whole["workers"] == {"living": 2, "gone": 1}


async def test_workers_that_stop_leave_no_files_behind(
    tmp_path: Path, simulator: Simulator
) -> None:
    async with (
        two_workers(tmp_path, simulator.url) as (one, two),
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        await send(http, one, 1)
        await stop(one)
        assert len(list((tmp_path / "state/workers").glob("*.json"))) == 2
        await shown(http, two, requests=1, living=1)
        await stop(two)

    assert list((tmp_path / "state/workers").iterdir()) == []


async def stop(worker: NodeProcess) -> None:
    assert worker.process is not None
    worker.process.terminate()
    await worker.process.wait()
