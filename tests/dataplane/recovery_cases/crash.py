"""Sessions that go on while their nodes are killed, and a witness at the provider.

Oracle: 03-proxy-and-recovery.md 5.10, as far as random kills (K10) go. A longer run only has
other numbers in its Ordeal.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import msgspec

from dataplane.core.text import marker
from dataplane.simulator import Simulator
from dataplane.simulator.server import Recorded
from tests.dataplane.gateway import TA, tenants
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL
from tests.dataplane.recovery_cases.nodes import NodeProcess, node_process
from tests.dataplane.recovery_cases.replayed import raw_messages
from tests.patience import PATIENCE_S
from tests.servers import RedisServer

STORE_TRIES, STORE_PAUSE_S = 20, 0.5
REDIS_BACK_S = 6.0  # longer than a node leaves a Redis alone that has failed several times
MUST_STAY_ZERO = ("stash_missing", "expand_unresolved_missing", "frozen_flips", "rewrite_failures")


@dataclass(frozen=True, kw_only=True)
class Ordeal:
    """What the nodes go through. up_s: shortest and longest time (s) that a node serves before it
    is killed. turns: after so many an agent begins a new session. outputs: new ones in each turn.
    retry_s: how long an agent waits before it sends again; pause_s: before its next turn.
    spares_nodes: it is the Redis behind them that is killed.
    """

    seed: int
    kills: int
    sessions: int = 10
    nodes: int = 1
    up_s: tuple[float, float] = (0.05, 0.7)
    turns: int = 40
    outputs: int = 1
    retry_s: float = 0.05
    pause_s: float = 0.0
    spares_nodes: bool = False


@dataclass
class Witness:
    """Every request at the provider. changed: messages that came in other bytes than before."""

    last: dict[str, list[bytes]] = field(default_factory=dict)
    markers: dict[str, set[str]] = field(default_factory=dict)
    changed: list[tuple[str, int]] = field(default_factory=list)
    requests: int = 0

    def see(self, recorded: Recorded) -> None:
        self.requests += 1
        body = recorded.body
        session = msgspec.json.decode(body)["metadata"]["user_id"]
        messages = raw_messages(body)
        known = self.last.get(session, [])
        pairs = zip(known, messages, strict=False)
        self.changed += [(session, n) for n, (was, now) in enumerate(pairs) if was != now]
        self.last[session] = messages
        found = {id_ for raw in messages for id_ in marker.find_in_json(raw)}
        self.markers.setdefault(session, set()).update(found)

    @property
    def minted(self) -> list[tuple[str, str]]:
        return [(session, id_) for session, ids in self.markers.items() for id_ in sorted(ids)]


@dataclass
class Findings:
    """moments: (s) after readiness at which nodes were killed. resent: turns whose first attempt
    was cut off. wrong: what GET /expand did not answer exactly. counted: of MUST_STAY_ZERO.
    """

    witness: Witness = field(default_factory=Witness)
    moments: list[float] = field(default_factory=list)
    answered: int = 0
    resent: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)
    wrong: list[tuple[str, str, int]] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)


class Agent:
    """One scripted agent: every turn adds a tool output that nobody has seen before."""

    def __init__(
        self, name: str, nodes: list[NodeProcess], findings: Findings, ordeal: Ordeal
    ) -> None:
        self._name, self._nodes, self._ordeal = name, nodes, ordeal
        self._findings = findings
        self._attempts = 0
        self.sessions = 0

    async def work(self, http: httpx.AsyncClient) -> None:
        """One session after the other, until cancelled."""
        while True:
            session = f"{self._name}.{self.sessions}"
            self.sessions += 1
            messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the test."}]
            for turn in range(self._ordeal.turns):
                messages += step(session, turn, self._ordeal.outputs)
                await self._insist(http, request(session, messages, stream=turn % 2 == 1))
                await asyncio.sleep(self._ordeal.pause_s)

    async def _insist(self, http: httpx.AsyncClient, body: bytes) -> None:
        """Send the same body until it is answered, as agents do; attempts alternate the nodes."""
        attempt = 0
        while True:
            node = self._nodes[self._attempts % len(self._nodes)]
            self._attempts += 1
            try:
                answer = await http.post(f"{node.url}/v1/messages", content=body, headers=AGENT)
            except httpx.TransportError:
                attempt += 1
                await asyncio.sleep(self._ordeal.retry_s)
                continue
            self._findings.resent += bool(attempt)
            self._findings.answered += 1
            if answer.status_code != HTTPStatus.OK:
                self._findings.refused.append((answer.status_code, answer.text))
            return


def step(session: str, turn: int, outputs: int = 1) -> list[dict[str, Any]]:
    """Tool calls and their outputs, unlike every other."""
    calls, results = [], []
    for number in range(outputs):
        call_id = f"toolu_{turn}_{number}"
        name = f"{session} turn {turn}.{number}"
        output = "".join(f"{name} line {line}: ✓ {turn * line}\n" for line in range(9))
        calls.append({"type": "tool_use", "id": call_id, "name": "bash", "input": {"turn": turn}})
        results.append({"type": "tool_result", "tool_use_id": call_id, "content": output})
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


def request(session: str, messages: list[dict[str, Any]], *, stream: bool = False) -> bytes:
    body = {
        "stream": stream,
        "model": "claude-sonnet-5",
        "max_tokens": 64,
        "metadata": {"user_id": session},
        # Without a breakpoint nothing is cached, and what was sent verbatim may be removed later.
        "cache_control": {"type": "ephemeral"},
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        "messages": messages,
    }
    return json.dumps(body).encode()


async def undergo(ordeal: Ordeal, directory: Path, redis: RedisServer | None = None) -> Findings:
    """Let the agents work while nodes die; then ask for every original that was removed.

    redis: keeps the originals where there is one.
    """
    findings = Findings()
    limits = httpx.Limits(max_keepalive_connections=ordeal.sessions * ordeal.nodes)
    async with (
        Simulator(keep=1) as simulator,
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S, limits=limits) as http,
    ):
        simulator.on_request = findings.witness.see
        nodes = [a_node(directory, simulator.url, redis) for _ in range(ordeal.nodes)]
        try:
            await _rage(ordeal, nodes, findings, http, redis)
            if ordeal.spares_nodes:
                await asyncio.sleep(REDIS_BACK_S)
            await ask_for(findings.witness.minted, nodes, findings, http)
            await read_counters(nodes, findings, http)
        finally:
            for node in nodes:
                await node.kill()
    return findings


def a_node(directory: Path, upstream_url: str, redis: RedisServer | None) -> NodeProcess:
    if redis is None:
        return node_process(directory, tenants(MASK_ALL), upstream_url)
    document = MASK_ALL + "store: {backend: redis}\n"
    environment = {"HEADRACE_STORE_REDIS_URL": redis.url}
    return node_process(directory, tenants(document), upstream_url, **environment)


async def _rage(
    ordeal: Ordeal,
    nodes: list[NodeProcess],
    findings: Findings,
    http: httpx.AsyncClient,
    redis: RedisServer | None,
) -> None:
    dice = random.Random(ordeal.seed)  # noqa: S311  a seed makes the moments repeatable
    agents = [Agent(f"s{number}", nodes, findings, ordeal) for number in range(ordeal.sessions)]
    async with asyncio.TaskGroup() as group:
        for node in nodes:
            await node.start()
        working = [group.create_task(agent.work(http)) for agent in agents]
        for _ in range(ordeal.kills):
            victim = nodes[dice.randrange(len(nodes))]
            await victim.wait_until_ready()
            findings.moments.append(round(dice.uniform(*ordeal.up_s), 3))
            await asyncio.sleep(findings.moments[-1])
            if ordeal.spares_nodes and redis is not None:
                redis.kill()
                await asyncio.sleep(dice.uniform(*ordeal.up_s))
                await asyncio.to_thread(redis.start)
                continue
            await read_counters([victim], findings, http)
            await victim.kill()
            await victim.start()
        for node in nodes:
            await node.wait_until_ready()
        await asyncio.sleep(ordeal.up_s[1])  # every session replays once more what survived
        for task in working:
            task.cancel()


async def fetch(
    http: httpx.AsyncClient, url: str, headers: Mapping[str, str], **params: str
) -> httpx.Response:
    """A kept connection may lead to the process that was killed: then it is asked once more."""
    try:
        return await http.get(url, params=params, headers=headers)
    except httpx.ReadError:
        return await http.get(url, params=params, headers=headers)


async def ask_for(
    minted: list[tuple[str, str]],
    nodes: list[NodeProcess],
    findings: Findings,
    http: httpx.AsyncClient,
) -> None:
    for number, (session, marker_id) in enumerate(minted):
        node = nodes[number % len(nodes)]
        owner = {"x-context-guru-token": TA, "x-context-guru-session": session}
        answer = await fetch(http, f"{node.url}/expand", owner, id=marker_id)
        for _ in range(STORE_TRIES):
            if answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
                break
            # A store that comes back asks for patience; what is lost stays lost.
            await asyncio.sleep(STORE_PAUSE_S)
            answer = await fetch(http, f"{node.url}/expand", owner, id=marker_id)
        is_right = hashlib.sha256(answer.content).hexdigest().startswith(marker_id)
        if answer.status_code != HTTPStatus.OK or not is_right:
            findings.wrong.append((session, marker_id, answer.status_code))


async def read_counters(
    nodes: list[NodeProcess], findings: Findings, http: httpx.AsyncClient
) -> None:
    for node in nodes:
        answer = await fetch(http, f"{node.url}/stats", {"x-context-guru-token": TA})
        stats: Mapping[str, int] = answer.json()
        for name in MUST_STAY_ZERO:
            findings.counted[name] = findings.counted.get(name, 0) + stats[name]
