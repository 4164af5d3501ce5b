"""Nodes that share one Redis, and nodes whose Redis is wrong or away (03 §10.9 (128, 131))."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import TA, tenants
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL, Serve
from tests.dataplane.recovery_cases.crash import MUST_STAY_ZERO, Ordeal, undergo
from tests.dataplane.recovery_cases.nodes import NodeProcess, node_process
from tests.dataplane.recovery_cases.scripted import X4000, X4000_ID
from tests.dataplane.recovery_cases.test_kill import print_findings
from tests.dataplane.recovery_cases.test_store_cases import outputs_in
from tests.patience import PATIENCE_S
from tests.servers import free_port, redis_server

SHARED = MASK_ALL + "store: {backend: redis}\n"
SESSION = {"x-context-guru-session": "s1"}
# A node leaves a Redis that failed alone for 5 s; it is given longer than that to come back.
REDIS_DIES = Ordeal(seed=4, kills=2, up_s=(1.0, 6.0), pause_s=0.05, spares_nodes=True)


@contextlib.asynccontextmanager
async def nodes(
    directory: Path, simulator: Simulator, count: int, **environment: str
) -> AsyncIterator[list[NodeProcess]]:
    """Each with a state directory of its own, as on another machine."""
    made = []
    for number in range(count):
        place = directory / f"host-{number}"
        place.mkdir()
        made.append(node_process(place, tenants(SHARED), simulator.url, **environment))
    try:
        for node in made:
            await node.start()
        await asyncio.gather(*(node.wait_until_ready() for node in made))
        yield made
    finally:
        for node in made:
            await node.kill()


async def turn(http: httpx.AsyncClient, node: NodeProcess, *outputs: str) -> int:
    answer = await http.post(
        f"{node.url}/v1/messages", content=anthropic_body(*outputs), headers=AGENT | SESSION
    )
    return answer.status_code


async def expanded(http: httpx.AsyncClient, node: NodeProcess) -> str:
    headers = {"x-context-guru-token": TA} | SESSION
    return (await http.get(f"{node.url}/expand?id={X4000_ID}", headers=headers)).text


async def test_case_131_a_session_moves_between_two_nodes_unnoticed(
    tmp_path: Path, simulator: Simulator, redis_url: str
) -> None:
    async with (
        nodes(tmp_path, simulator, 2, HEADRACE_STORE_REDIS_URL=redis_url) as (one, other),
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        assert await turn(http, one, X4000) == 200
        assert await turn(http, other, X4000, "and more") == 200
        assert await turn(http, one, X4000, "and more", "and still more") == 200

        first, second, third = (outputs_in(each.body) for each in simulator.requests)
        assert re.search(rf"<<cg:{X4000_ID}>>", first[0])
        assert first[0] == second[0] == third[0]
        assert second == third[:2]  # what lay inside the boundary was sent again as it was
        assert [await expanded(http, node) for node in (one, other)] == [X4000, X4000]


async def test_case_128_a_node_does_not_start_on_a_redis_that_evicts(
    tmp_path: Path, simulator: Simulator
) -> None:
    with redis_server(tmp_path, "--maxmemory-policy", "allkeys-lru") as server:
        node = node_process(
            tmp_path, tenants(SHARED), simulator.url, HEADRACE_STORE_REDIS_URL=server.url
        )
        await node.start()
        assert node.process is not None
        async with asyncio.timeout(PATIENCE_S):
            status = await node.process.wait()

    assert status != 0
    assert "redis_evicts: maxmemory-policy is allkeys-lru" in node.log.read_text()


async def test_a_node_whose_redis_is_away_starts_and_forwards_outputs_as_they_came(
    tmp_path: Path, simulator: Simulator
) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    async with (
        nodes(tmp_path, simulator, 1, HEADRACE_STORE_REDIS_URL=nowhere) as (node,),
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        assert await turn(http, node, X4000) == 200

        assert outputs_in(simulator.requests[0].body) == [X4000]
        assert "cg.store_unavailable" in node.log.read_text()


async def test_a_node_without_redis_refuses_a_document_that_wants_it(serve: Serve) -> None:
    async with serve(SHARED) as served:
        assert served.gateway.node.snapshots.nacks == {"store_unavailable": 2}


# -- K10 and K13: nodes die, and the Redis behind them -------------------------------------------


@pytest.mark.crash
@pytest.mark.parametrize(
    "ordeal",
    [
        pytest.param(Ordeal(seed=3, kills=4, nodes=2), id="03-case-125-K10-two-nodes-one-redis"),
        pytest.param(REDIS_DIES, id="03-case-125-K13-redis"),
    ],
)
async def test_nothing_is_lost_or_changed_when_a_node_or_redis_is_killed(
    ordeal: Ordeal, tmp_path: Path
) -> None:
    with redis_server(tmp_path) as server:
        findings = await undergo(ordeal, tmp_path, server)

    print_findings(ordeal, findings)
    assert findings.wrong == []
    assert findings.witness.changed == []
    assert findings.refused == []
    assert findings.counted == dict.fromkeys(MUST_STAY_ZERO, 0)
    assert findings.answered > 0
    assert sum(map(len, findings.witness.markers.values())) > 0
