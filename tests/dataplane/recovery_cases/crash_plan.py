"""The long crash test: every place to die, random kills and a full disk, then one report.

Usage: python -m tests.dataplane.recovery_cases.crash_plan [KILLS_PER_PLACE RANDOM_KILLS]
Source: 03-proxy-and-recovery.md 5.10, K1 to K11. The short form is test_kill.py.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import httpx

from dataplane.adapters.failpoints import NAMES
from dataplane.core import resource
from dataplane.simulator import Simulator
from tests.dataplane.gateway import TB, TenantSpec, resources, tenant_resource, tenants
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL
from tests.dataplane.recovery_cases.crash import (
    MUST_STAY_ZERO,
    Agent,
    Findings,
    Ordeal,
    ask_for,
    fetch,
    read_counters,
    request,
)
from tests.dataplane.recovery_cases.full_disk import fill_and_free
from tests.dataplane.recovery_cases.nodes import READY_POLL_S, NodeProcess, node_process
from tests.dataplane.recovery_cases.scripted import x
from tests.patience import PATIENCE_MS, PATIENCE_S

KILLS_PER_PLACE, RANDOM_KILLS, MARKERS, TENANTS = 10, 115, 20_000, 1000
ORDEAL = Ordeal(
    seed=310, kills=0, sessions=50, up_s=(0.3, 1.2), outputs=3, retry_s=0.3, pause_s=0.3
)
SAMPLE = 20
AT_MOST_S = 6.0  # a place that was not reached by then is left by a random kill
DICE = {
    "before_commit": 0.05,
    "after_commit": 0.05,
    "request_write": 0.01,
    "response_head": 0.01,
    "mid_stream": 0.005,
    "checkpoint": 0.3,
    "sweep": 0.5,
    "snapshot_swap": 0.3,
    "key_rotation": 0.5,
}


@dataclass
class Plan:
    """One node, its agents and what was seen of them. died: how often, by place."""

    node: NodeProcess
    specs: list[TenantSpec]
    simulator: Simulator
    http: httpx.AsyncClient
    findings: Findings = field(default_factory=Findings)
    dice: random.Random = field(default_factory=lambda: random.Random(ORDEAL.seed))  # noqa: S311
    died: Counter[str] = field(default_factory=Counter)
    version: int = 1
    keys: list[str] = field(default_factory=list)
    ready_s: list[float] = field(default_factory=list)
    foreign: int = 0

    async def begin(self, place: str, **environment: str) -> None:
        """Start the node, with a newer snapshot than the last time, until it stays up."""
        while True:
            self._renew_snapshot()
            self.node.environment = self._environment(place) | environment
            started = time.perf_counter()
            await self.node.start()
            if await self._is_up():
                self.ready_s.append(time.perf_counter() - started)
                return
            self.died[place] += 1

    def _renew_snapshot(self) -> None:
        self.version += 1
        found = resources(self.specs, self.simulator.url)[: -len(self.specs)]
        found += [tenant_resource(spec, self.version) for spec in self.specs]
        self.node.snapshot.write_bytes(resource.bundle(found))

    def _environment(self, place: str) -> dict[str, str]:
        environment = {
            "HEADRACE_STORE_SWEEP_EVERY_S": "1",
            # A machine that does six things at once is no slow store.
            "HEADRACE_STORE_COMMIT_TIMEOUT_MS": str(PATIENCE_MS),
        }
        if place in DICE:
            environment["HEADRACE_FAILPOINT"] = f"{place}:{DICE[place]}"
        if place == "key_rotation":
            key_id = f"k{len(self.keys)}"
            key = base64.b64encode(self.dice.randbytes(32)).decode()
            self.keys.append(f"{key_id}:{key}")
        if self.keys:
            setting = {"kek_ref": "env:KEKS", "key_id": f"k{len(self.keys) - 1}"}
            environment["HEADRACE_STORE_ENCRYPTION"] = json.dumps(setting)
            environment["KEKS"] = " ".join(self.keys)
        return environment

    async def _is_up(self) -> bool:
        """True once it is ready, False when it died before."""
        process = self.node.process
        assert process is not None
        while process.returncode is None:
            try:
                if (await self.http.get(f"{self.node.url}/readyz")).is_success:
                    return True
            except httpx.TransportError:
                await asyncio.sleep(READY_POLL_S)
        return False

    async def die_at(self, place: str, times: int) -> None:
        """Let the node die there so often; where it is not reached, at a random moment."""
        target = self.died[place] + times
        while self.died[place] < target:
            await self.begin(place)
            assert self.node.process is not None
            try:
                async with asyncio.timeout(AT_MOST_S):
                    await self.node.process.wait()
            except TimeoutError:
                await self.kill()
            else:
                self.died[place] += 1

    async def die_at_random(self, times: int) -> None:
        for _ in range(times):
            await self.begin("random")
            await self.sample()
            await asyncio.sleep(self.dice.uniform(*ORDEAL.up_s))
            await read_counters([self.node], self.findings, self.http)
            await self.kill()

    async def kill(self) -> None:
        await self.node.kill()
        self.died["random"] += 1

    async def sample(self) -> None:
        """After a death some of what was ever minted, by its owner and by a stranger."""
        minted = self.findings.witness.minted
        chosen = self.dice.sample(minted, min(SAMPLE, len(minted)))
        await ask_for(chosen, [self.node], self.findings, self.http)
        for session, id_ in chosen[:5]:
            stranger = {"x-context-guru-token": TB, "x-context-guru-session": session}
            answer = await fetch(self.http, f"{self.node.url}/expand", stranger, id=id_)
            self.foreign += answer.status_code != HTTPStatus.NOT_FOUND

    async def ask_by_model(self) -> int:
        """How many of a sample the model did not get when it asked for them."""
        failed = 0
        for session, id_ in self.dice.sample(self.findings.witness.minted, SAMPLE):
            self.simulator.script({"content": [x(id_)]}, {"content": "done"})
            said = [{"role": "user", "content": f"Look at <<cg:{id_}>> again."}]
            body = request(session, said)
            await self.http.post(f"{self.node.url}/v1/messages", content=body, headers=AGENT)
            last = json.loads(self.simulator.requests[-1].body)["messages"][-1]
            text = last["content"][0]["content"] if isinstance(last["content"], list) else ""
            failed += not hashlib.sha256(text.encode()).hexdigest().startswith(id_)
        return failed


async def carry_out(plan: Plan, per_place: int, at_random: int) -> None:
    agents = [Agent(f"s{n}", [plan.node], plan.findings, ORDEAL) for n in range(ORDEAL.sessions)]
    async with asyncio.TaskGroup() as group:
        working = [group.create_task(agent.work(plan.http)) for agent in agents]
        for place in DICE:
            if place != "key_rotation":
                await plan.die_at(place, per_place)
                _say(plan, place)
        await plan.die_at_random(at_random)
        _say(plan, "random")
        await plan.die_at("key_rotation", per_place)
        _say(plan, "key_rotation")
        plan.specs += crowd(TENANTS - len(plan.specs))
        await plan.begin("crowd")
        await plan.sample()
        await plan.kill()
        await plan.begin("crowd")
        wanted = MARKERS * per_place / KILLS_PER_PLACE
        while len(plan.findings.witness.minted) < wanted:  # noqa: ASYNC110  nobody announces it
            await asyncio.sleep(0.5)
        for task in working:
            task.cancel()


def crowd(count: int) -> list[TenantSpec]:
    """Tenants that only have to be there."""
    return [TenantSpec(f"crowd-{n}", f"cg_live_{n:026d}", MASK_ALL) for n in range(count)]


def _say(plan: Plan, place: str) -> None:
    _print(f"{NAMES.get(place, 'K10')} {place}: {len(plan.findings.witness.minted)} markers so far")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main(per_place: int, at_random: int) -> int:
    began = time.perf_counter()
    limits = httpx.Limits(max_keepalive_connections=ORDEAL.sessions)
    with tempfile.TemporaryDirectory() as directory:
        async with (
            Simulator(keep=4) as simulator,
            httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S, limits=limits) as http,
        ):
            specs = tenants(MASK_ALL)
            node = node_process(Path(directory), specs, simulator.url)
            plan = Plan(node, specs, simulator, http)
            simulator.on_request = plan.findings.witness.see
            try:
                await carry_out(plan, per_place, at_random)
                await ask_for(plan.findings.witness.minted, [node], plan.findings, http)
                await read_counters([node], plan.findings, http)
                simulator.on_request = lambda _: None
                unanswered = await plan.ask_by_model()
            finally:
                await node.kill()
        full = await fill_and_free(Path(directory) / "full")
    return report(plan, unanswered, full, time.perf_counter() - began)


def report(plan: Plan, unanswered: int, full: str, took_s: float) -> int:
    """Print what was found; 0 when everything held."""
    found = plan.findings
    mismatches = sum(status == HTTPStatus.OK for _, _, status in found.wrong)
    zero = {
        "unresolved": len(found.wrong) - mismatches + unanswered,
        "mismatches": mismatches,
        "flips": len(found.witness.changed),
        "foreign": plan.foreign,
        "answered with an error of ours": len(found.refused),
        **{name: found.counted[name] for name in MUST_STAY_ZERO},
    }
    places = ", ".join(f"{NAMES.get(p, 'K10')} {n}" for p, n in plan.died.items())
    _print(f"kills: {sum(plan.died.values())} ({places})")
    _print(f"markers: {len(found.witness.minted)} in {len(found.witness.markers)} sessions")
    _print(f"turns answered: {found.answered}, of them sent again after a kill: {found.resent}")
    _print(f"start to ready: {max(plan.ready_s):.2f} s at most, {len(plan.ready_s)} starts")
    _print(f"start to ready with {TENANTS} tenants: {max(plan.ready_s[-2:]):.2f} s at most")
    _print(f"K11 full disk: {full or 'held'}")
    for name, count in zero.items():
        _print(f"{name}: {count}")
    _print(f"took {took_s:.0f} s")
    return int(any(zero.values()) or bool(full))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]] or [KILLS_PER_PLACE, RANDOM_KILLS]
    sys.exit(asyncio.run(main(*numbers)))
