"""Builders of requests, steps and stores for tests of the core."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from dataplane.core.effects import (
    Commit,
    Committed,
    Core,
    Effect,
    OpenTurn,
    Recall,
    SessionView,
)
from dataplane.core.port.declaration import Declaration, Kind, PipelineStep
from dataplane.core.port.turn import Offload, Step, ToolOutput, Turn
from dataplane.core.text.content import Content
from dataplane.core.text.marker import HINT
from dataplane.core.wire.message import Message, Role

M = "\n".join(f"row {i:03d} value {i * i}" for i in range(1, 41))  # 01 §6.1
M_ID = "cd972f8e3307de8d"


def tool_messages(*texts: str) -> list[Message]:
    return [Message(Role.TOOL, Content(text), rewritable=True) for text in texts]


class OffConfig(msgspec.Struct, frozen=True):
    marker_mode: str = "full"


def _offload_long(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
    for output in outputs:
        if len(output.text) >= 200 and not output.carries_marker and not turn.is_kept(output):
            yield Offload(output.index, "[x] ", hint=HINT)


OFF = Declaration(
    "off_long", Kind.OFFLOAD, "Replaces every long output.", OffConfig, (), _offload_long
)


def off_step(marker_mode: str = "full") -> PipelineStep:
    """The test-only offloader of 03 §10: replaces outputs of 200 characters and more."""
    return PipelineStep(OFF, OffConfig(marker_mode))


def anthropic_body(*outputs: str, tools: Sequence[str] = ("bash",), **members: Any) -> bytes:
    """A Messages request with one assistant call and one tool result per output."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the test."}]
    for number, output in enumerate(outputs):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": {}}
        messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output}
        messages.append({"role": "user", "content": [result]})
    body = {"model": "claude-sonnet-5", "max_tokens": 64, "messages": messages, **members}
    if tools:
        body["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in tools]
    return json.dumps(body).encode()


def run_core(core: Core[Any], *answers: Any) -> tuple[Any, list[Effect]]:
    """Drive a core with prepared answers; the result and the effects it asked for."""
    effects: list[Effect] = []
    remaining = list(answers)
    try:
        effect = next(core)
        while True:
            effects.append(effect)
            effect = core.send(remaining.pop(0) if remaining else _default(effect))
    except StopIteration as done:
        return done.value, effects


def _default(effect: Effect) -> Any:
    """What a store with room answers that has never seen the session."""
    if isinstance(effect, OpenTurn):
        return SessionView()
    if isinstance(effect, Commit):
        return Committed(frozenset(payload.marker_id for payload in effect.payloads))
    assert isinstance(effect, Recall)
    raise AssertionError("say what the store recalls")
