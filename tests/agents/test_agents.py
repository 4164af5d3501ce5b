"""Each agent does its work through the gateway and notices nothing of it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dataplane.simulator import Simulator
from dataplane.simulator.provider import Request
from tests.agents.clients import AGENTS, PROGRAMS, Agent, codex_with_websockets, environment
from tests.agents.tap import Tap
from tests.journeys.deployment import Deployment
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.agents,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not PROGRAMS.is_dir(), reason="make test-agents installs the agents"),
]

MARKER = re.compile(rb"(?:<|\\u003c){2}cg:[0-9a-z]{8}", re.IGNORECASE)
DONE = "What was asked for is done."

RECOVERY = {"type": "tool_use", "name": "context_guru_expand", "input": {"id": {"$marker": 0}}}
RECOVERED_AFTER = 3  # requests


def offers_tools(body: bytes) -> bool:
    """What offers none is about something else: a title for the conversation."""
    return bool(body) and bool(json.loads(body).get("tools"))


class Model:
    """Says its rounds, one to each request that offers tools. A command stands for the agent's own
    call that runs it.
    """

    def __init__(self, rounds: Sequence[str | dict[str, Any]]) -> None:
        self.left = list(rounds)

    def of(self, agent: Agent) -> Callable[[Request], dict[str, Any] | None]:
        def say(request: Request) -> dict[str, Any] | None:
            if not offers_tools(request.body):
                return None
            said = self.left.pop(0) if self.left else {"content": "Nothing is left to say."}
            return said if isinstance(said, dict) else {"content": [agent.calls(said)]}

        return say


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def provider() -> AsyncIterator[Simulator]:
    async with Simulator() as running:
        yield running


@pytest.fixture(scope="module")
def gateway(provider: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    made = Deployment(tmp_path_factory.mktemp("gateway"), provider=provider.url)
    try:
        made.start()
        yield made
    finally:
        made.close()


async def finished(agent: Agent, home: Path, tap: Tap, key: str) -> str:
    """What the agent printed once it was asked and had ended."""
    (home / "work").mkdir()
    more = agent.set_up(home, tap.url, key)
    running = await asyncio.create_subprocess_exec(
        str(PROGRAMS / agent.command[0]), *agent.command[1:], "Count, and say when it is done.",
        cwd=home / "work", env=environment(home, more),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(2 * PATIENCE_S):
            printed, _ = await running.communicate()
    finally:
        if running.returncode is None:
            running.kill()
    said = printed.decode(errors="replace")
    assert running.returncode == 0, said
    return said


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
async def test_an_agent_finishes_through_the_gateway_and_never_sees_a_recovery(
    agent: Agent, provider: Simulator, gateway: Deployment, tmp_path: Path
) -> None:
    provider.clear()
    bounces = gateway.stats()["bounces"]
    # What one agent asked back, nobody of its tenant is sent without: each counts on its own.
    first = 1000 * (1 + AGENTS.index(agent))
    output = "\n".join(str(number) for number in range(first, first + 1500))
    count = f"seq {first} {first + 1499}"
    model = Model([count, "echo two", {"content": [RECOVERY]}, "echo three", {"content": DONE}])
    provider.play(model.of(agent))

    async with Tap(gateway.url) as tap:
        said = await finished(agent, tmp_path, tap, gateway.key)

    assert DONE in said
    assert model.left == []
    asked = [each.sent for each in tap.exchanged if offers_tools(each.sent)]
    carried = [each.body for each in provider.requests if offers_tools(each.body)]
    recovery = carried.pop(RECOVERED_AFTER)
    assert [_holds(body, output) for body in asked] == [False, True, True, True]
    assert [_holds(body, output) for body in carried] == [False, False, False, True]
    assert all(MARKER.search(body) for body in carried[1:3])
    assert all(len(ours) < len(its) for ours, its in zip(carried[1:3], asked[1:3], strict=True))
    assert sum(map(len, carried)) < sum(map(len, asked))
    assert _holds(recovery, output)
    for seen in (tap.answered, tap.sent):
        assert b"context_guru" not in seen
        assert not MARKER.search(seen)
    assert gateway.stats()["bounces"] - bounces == 1


async def test_codex_goes_on_over_http_where_it_finds_no_websocket(
    provider: Simulator, gateway: Deployment, tmp_path: Path
) -> None:
    agent = next(each for each in AGENTS if each.name == "codex")
    provider.play(Model([{"content": DONE}]).of(agent))

    async with Tap(gateway.url) as tap:
        said = await finished(
            replace(agent, set_up=codex_with_websockets), tmp_path, tap, gateway.key
        )

    assert DONE in said
    assert [(each.method, each.status) for each in tap.exchanged] == [("GET", 426), ("POST", 200)]


def _holds(body: bytes, text: str) -> bool:
    return json.dumps(text)[1:-1].encode() in body
