"""Agents that rewrite their own history, and what the gateway sends of what they said.

The core's own exchange over a store, without a server: every turn is judged as it leaves.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from dataplane.adapters.drive import drive, performer
from dataplane.adapters.stores.originals import Store
from dataplane.core.asked import Asked
from dataplane.core.components import components
from dataplane.core.effects import Recall, Scope
from dataplane.core.exchange import Exchange
from dataplane.core.expand.relay import Call
from dataplane.core.outgoing import Outgoing
from dataplane.core.port.declaration import PipelineStep
from dataplane.core.serving.plan import Plan
from dataplane.core.text import marker
from dataplane.core.wire.message import Dialect

KEYS: dict[str, dict[str, object]] = {
    "dedup": {"min_tokens": 20},
    "mask": {"keep_recent": 2, "min_tokens": 20},
    "collapse": {"max_tokens": 60, "head_lines": 2, "tail_lines": 2},
}
_COLLAPSED = "... ("
_IDENTICAL = "[identical to an earlier tool output] "
_PEEK = "starts: "
_numbers = itertools.count()


def plan_of(*names: str, **facts: Any) -> Plan:
    """A plan of these components with small thresholds. facts: other parts of the plan."""
    found = components()
    return Plan(
        tuple(
            PipelineStep(found[name], msgspec.convert(KEYS[name], found[name].config))
            for name in names
        ),
        **facts,
    )


@dataclass
class Agent:
    """said: call id and text of every tool output in its history, oldest first."""

    store: Store
    plan: Plan
    principal: str = "alice"
    session: str = "s1"
    thread: str = ""
    at: float = 1_000_000.0
    said: list[tuple[str, str]] = field(default_factory=list)

    def reads(self, *texts: str) -> None:
        self.said += [(f"toolu_{next(_numbers)}", text) for text in texts]

    def fork(self, thread: str) -> Agent:
        """A subagent of the same session, with a history of its own."""
        return replace(self, thread=thread, said=list(self.said))

    async def send(self) -> list[str]:
        """What leaves in the place of each output, judged; raises AssertionError."""
        self.at += 1
        outgoing = await self._shaped()
        sent = _outputs_of(outgoing.body)
        assert len(sent) == len(self.said)
        for place, text in enumerate(sent):
            await self._judge(place, text)
        return sent

    async def expand(self, marker_id: str) -> str:
        """The model asks for an original in the middle of an answer."""
        exchange = self._exchange()
        await drive(exchange.prepare(self._body()), performer(self.store))
        (answered,) = await drive(
            exchange.answer([Call("toolu_x", "context_guru_expand", marker_id)]),
            performer(self.store),
        )
        await drive(exchange.taken(), performer(self.store))
        return answered.text

    async def _shaped(self) -> Outgoing:
        return await drive(self._exchange().prepare(self._body()), performer(self.store))

    def _exchange(self) -> Exchange:
        asked = Asked(
            Dialect.ANTHROPIC,
            "acme",
            self.principal,
            self.at,
            session_header=self.session,
            agent_header=self.thread,
        )
        return Exchange(self.plan, asked, persists=True)

    def _body(self) -> bytes:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the test."}]
        for call_id, text in self.said:
            call = {"type": "tool_use", "id": call_id, "name": "read", "input": {}}
            result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
            messages.append({"role": "assistant", "content": [call]})
            messages.append({"role": "user", "content": [result]})
        tools = [{"name": "read", "input_schema": {"type": "object"}}]
        return json.dumps(
            {"model": "claude-sonnet-5", "tools": tools, "messages": messages}
        ).encode()

    async def _judge(self, place: int, sent: str) -> None:
        """A text that left changed opens to exactly what was said, and shows nothing else."""
        said = self.said[place][1]
        if sent == said:
            return
        (marker_id,) = marker.find(sent)
        scope = Scope("acme", self.principal, self.session)
        recalled = await self.store.recall(Recall(scope, marker_id, self.at, keep=False))
        assert recalled.original == said.encode()
        if sent.startswith(_IDENTICAL):
            assert said in [text for _, text in self.said[:place]]
        elif _PEEK in sent:
            peek = sent.partition(_PEEK)[2].partition("]")[0].removesuffix("…")
            assert " ".join(said.split()).startswith(peek)
        else:
            shown = [line for line in sent.split("\n") if not line.startswith(_COLLAPSED)]
            assert len(shown) == sent.count("\n") > 0
            assert set(shown) <= set(said.split("\n"))


def _outputs_of(body: bytes) -> list[str]:
    messages = json.loads(body)["messages"]
    return [
        block["content"]
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
