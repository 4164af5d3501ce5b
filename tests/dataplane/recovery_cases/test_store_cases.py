"""The store behind a running node: expiry, caps, damage, keys and purges.

Source: 03-proxy-and-recovery.md 10.9, where a node is needed; the rest is in the store's own
contract, cases 122 and 123 among it. Case 125 is test_kill.py; cases 128 and 131 are
test_redis_cases.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dataplane.adapters.stores.sqlite_file import store_path
from dataplane.encryption import StoreEncryption
from dataplane.settings import SharedStore
from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import TA, gateway, tenant_resource, tenants
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL, MASKED, Serve, Served
from tests.dataplane.recovery_cases.nodes import NodeProcess, node_process
from tests.dataplane.recovery_cases.scripted import X4000, X4000_ID, x
from tests.patience import PATIENCE_S, until
from tests.servers import free_port

STARTED = 1_800_000_000
MEMORY = MASK_ALL + "store: {backend: memory, ttl_seconds: 60}\n"


async def turn(
    served: Served, *outputs: str, at: float = STARTED, session: str = "s1"
) -> list[str]:
    """One turn; the tool outputs as the provider got them."""
    await served.post(
        anthropic_body(*outputs), x_context_guru_session=session, x_headrace_now=str(at)
    )
    return outputs_in(served.sent[-1])


def outputs_in(body: bytes) -> list[str]:
    messages = json.loads(body)["messages"]
    blocks = (b for m in messages if isinstance(m["content"], list) for b in m["content"])
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


async def is_open(served: Served, marker_id: str = X4000_ID, *, at: float = STARTED) -> bool:
    headers = {"x-context-guru-token": TA, "x-headrace-now": str(at)}
    path = f"/expand?id={marker_id}&session=s1"
    return (await served.send("GET", path, headers=headers)).status_code == 200


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-120")])
async def test_reading_keeps_an_original_alive_and_a_replay_brings_it_back(
    serve: Serve, _: None
) -> None:
    async with serve(MEMORY, test_clock=True) as served:
        masked = await turn(served, X4000)
        for seconds in range(30, 180, 30):
            assert await is_open(served, at=STARTED + seconds)

        again = await turn(served, X4000, "more", at=STARTED + 400)

        stats = served.stats()
        assert (stats["stash_expired"], stats["stash_revived"]) == (1, 1)
        assert again[0] == masked[0]
        assert await is_open(served, at=STARTED + 400)


FILL = [f"{number} " * 300 for number in range(12)]


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param("max_entries: 16", id="03-case-121-entries"),
        pytest.param("stash_max_bytes: 8000", id="03-case-121-bytes"),
    ],
)
@pytest.mark.parametrize("backend", ["memory", "sqlite", "redis"])
async def test_a_full_reserve_refuses_what_is_new_and_keeps_what_is_there(
    serve: Serve, redis_url: str, backend: str, limit: str
) -> None:
    document = MASK_ALL + f"store: {{backend: {backend}, {limit}}}\n"
    async with serve(document, test_clock=True, store_redis=SharedStore(redis_url)) as served:
        first = await turn(served, X4000)
        second = await turn(served, X4000, *FILL)
        third = await turn(served, X4000, *FILL, "newest " * 300)

        assert served.stats()["stash_refused"] > 0
        assert second[0] == first[0] == MASKED.format(id=X4000_ID)
        assert FILL[-1] == second[-1] == third[-2]
        assert third[: len(second)] == second
        assert await is_open(served)


async def test_case_164_a_thousand_turns_that_only_replay_write_no_original_and_no_decision(
    serve: Serve,
) -> None:
    async with serve(test_clock=True) as served:
        first = await turn(served, X4000)
        path = store_path(served.gateway.node.settings.state_dir, "ten_acme")
        with contextlib.closing(sqlite3.connect(path)) as file:
            for table in ("stash", "body", "owner", "frozen"):
                for event in ("INSERT", "UPDATE", "DELETE"):
                    file.execute(
                        f"CREATE TRIGGER {event}_{table} BEFORE {event} ON {table} "
                        "BEGIN SELECT RAISE(ABORT, 'written'); END"
                    )
            file.commit()

        for number in range(1000):
            again = await turn(served, X4000, at=STARTED + number / 100)

        assert again == first
        assert served.stats()["frozen_hits"] == 1000
        assert served.stats()["store"]["commit_timeouts"] == 0


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-124")])
async def test_a_damaged_value_is_absent_and_never_half_applied(serve: Serve, _: None) -> None:
    async with serve(test_clock=True) as served:
        await turn(served, X4000)
        path = store_path(served.gateway.node.settings.state_dir, "ten_acme")
        with contextlib.closing(sqlite3.connect(path)) as file:
            file.executescript("UPDATE body SET v = substr(v, 2)")

        assert not await is_open(served)
        served.simulator.script({"content": [x(X4000_ID)]}, {"content": "done"})
        await turn(served, X4000)
        answer = json.loads(served.sent[-1])["messages"][-1]["content"][0]["content"]
        assert answer.endswith("is no longer available]")


@pytest.mark.crash
@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-126")])
async def test_a_node_killed_between_commit_and_forward_gives_the_retry_the_same_marker(
    tmp_path: Path, _: None
) -> None:
    arrived = asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await reader.read()
        writer.close()

    body = anthropic_body(X4000)
    port = free_port()
    silent = await asyncio.start_server(never_answer, "127.0.0.1", port)
    node = node_process(tmp_path, tenants(MASK_ALL), f"http://127.0.0.1:{port}")
    async with (
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
        asyncio.TaskGroup() as group,
    ):
        await start(node)
        lost = group.create_task(cut_off(http, node.url, body))
        await arrived.wait()
        await node.kill()
    silent.close()
    await silent.wait_closed()
    async with Simulator(port=port) as simulator, httpx.AsyncClient(trust_env=False) as http:
        await start(node)
        retried = await http.post(f"{node.url}/v1/messages", content=body, headers=AGENT)
        await node.kill()

    assert lost.result()
    assert retried.status_code == 200
    assert outputs_in(simulator.requests[0].body) == [MASKED.format(id=X4000_ID)]


async def start(node: NodeProcess) -> None:
    await node.start()
    await node.wait_until_ready()


async def cut_off(http: httpx.AsyncClient, url: str, body: bytes) -> bool:
    """True when the connection ended without an answer."""
    try:
        await http.post(f"{url}/v1/messages", content=body, headers=AGENT)
    except httpx.TransportError:
        return True
    return False


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-127")])
async def test_a_truncated_file_is_moved_aside_and_its_successor_proves_nothing(
    tmp_path: Path, simulator: Simulator, _: None
) -> None:
    path = store_path(tmp_path / "state", "ten_acme")
    async with restarted(tmp_path, simulator) as served:
        await turn(served, X4000)
    os.truncate(path, 20_000)

    async with restarted(tmp_path, simulator) as served:
        simulator.script({"content": [x("0123456789abcdef")]}, {"content": "done"})
        outputs = await turn(served, X4000, "more")
        stats = served.stats()

    assert path.with_name("store.db.corrupt-1").exists()
    assert outputs[1] == "more"
    assert stats["expand_unresolved_missing"] == 1
    assert stats["expand_unresolved_never_minted"] == 0
    assert not stats["store"]["authoritative"]


@contextlib.asynccontextmanager
async def restarted(
    directory: Path, simulator: Simulator, **settings: Any
) -> AsyncIterator[Served]:
    """A node over what an earlier one of this directory left behind."""
    specs = tenants(MASK_ALL)
    async with (
        gateway(directory, specs, simulator.url, test_clock=True, **settings) as running,
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        yield Served(running, simulator, http)


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-129")])
async def test_a_node_with_the_wrong_key_raises_the_alarm_and_serves_verbatim(
    tmp_path: Path, simulator: Simulator, _: None
) -> None:
    right, wrong = (StoreEncryption("k1", {"k1": bytes([n]) * 32}) for n in (1, 2))
    async with restarted(tmp_path, simulator, store_encryption=right) as served:
        masked = await turn(served, X4000)

    async with restarted(tmp_path, simulator, store_encryption=wrong) as served:
        simulator.script({"content": [x(X4000_ID)]}, {"content": "done"})
        verbatim = await turn(served, X4000, "more")
        stats = served.stats()
    async with restarted(tmp_path, simulator, store_encryption=right) as served:
        again = await turn(served, X4000, "more")
        assert await is_open(served)

    assert masked == [MASKED.format(id=X4000_ID)]
    assert verbatim[:2] == [X4000, "more"]
    assert stats["expand_unresolved_missing_by"]["decrypt_error"] == 1
    assert again[0] == masked[0]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-130")])
async def test_a_tenant_purged_during_traffic_is_gone_and_raises_no_alarm(
    tmp_path: Path, simulator: Simulator, _: None
) -> None:
    path = store_path(tmp_path / "state", "ten_acme")
    async with restarted(tmp_path, simulator) as served:
        await turn(served, X4000)
        assert path.exists()
        purged = tenant_resource(tenants(MASK_ALL, status="purged")[0], version=2)
        traffic = [asyncio.ensure_future(served.post(anthropic_body(X4000))) for _ in range(8)]
        served.gateway.node.snapshots._apply(purged)
        answers = [answer.status_code for answer in await asyncio.gather(*traffic)]
        await until(lambda: not list(path.parent.glob("store.db*")))
        refused = await served.post(anthropic_body(X4000))
        stats = served.stats()

        assert set(answers) <= {200, 403}
        assert refused.status_code == 403
        assert stats["expand_unresolved_missing"] == stats["stash_missing"] == 0
        assert not list(path.parent.glob("store.db*"))
        served.gateway.node.snapshots._apply(tenant_resource(tenants(MASK_ALL)[0], version=3))
        simulator.script({"content": [x(X4000_ID)]}, {"content": "done"})
        await turn(served, "something new")
        assert served.stats()["expand_unresolved_never_minted"] == 1
        assert served.stats()["expand_unresolved_missing"] == 0
