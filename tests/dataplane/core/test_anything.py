"""Whatever a client sends, shaping raises nothing, and changes nothing that was not decided."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataplane.core.asked import Asked
from dataplane.core.components import cachesplit, collapse, dedup, mask
from dataplane.core.components import format as json_format
from dataplane.core.effects import Commit, Core, Effect, Found, OpenTurn, Recall, Recalled
from dataplane.core.exchange import Exchange
from dataplane.core.outgoing import Outgoing
from dataplane.core.port.declaration import PipelineStep
from dataplane.core.resource import Host
from dataplane.core.serving.plan import Plan
from dataplane.core.wire.message import Dialect
from tests.dataplane.core.build import M_ID, M, off_step, run_core

HUGE = "a number of five thousand digits"
NAMES = [
    *("role", "content", "type", "text", "tool_use_id", "tool_call_id", "call_id", "output", "id"),
    *("name", "input", "arguments", "function", "tool_calls", "is_error", "cache_control", "ttl"),
    *("user_id", "session_id"),
]
WORDS = [
    *("user", "assistant", "system", "tool", "developer", "text", "tool_result", "tool_use"),
    *("function_call", "function_call_output", "input_text", "message", "ephemeral", "1h"),
    *("context_guru_expand", "c1", "auto", "enabled", M, M_ID, M * 9, f"<<cg:{M_ID}>>", "{}"),
    *("[1, 2]", json.dumps({"id": M_ID}), "\ud800", "\ud83d\ude00", "\nRecent commits:\nx", HUGE),
]
OUTSIDE = [
    *("n", "tools", "model", "stream", "tool_choice", "system", "metadata", "instructions"),
    *("store", "prompt_cache_key", "compaction", "previous_response_id"),
]


def values() -> st.SearchStrategy[Any]:
    """JSON values of every shape, out of the names and words that mean something."""
    leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(WORDS)
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
        ),
        max_leaves=8,
    )


@st.composite
def messages(draw: st.DrawFn) -> Any:
    """A message or an item as it should be, with some of its members replaced by anything."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": draw(st.sampled_from(WORDS))}
    call = {"type": "tool_use", "id": "c1", "name": "context_guru_expand", "input": {"id": M_ID}}
    item = {"type": "function_call_output", "call_id": "c1", "output": M}
    good = [
        {"role": "user", "content": [result, draw(values())]},
        {"role": "assistant", "content": [call, draw(values())]},
        {"role": "tool", "tool_call_id": "c1", "content": draw(st.sampled_from(WORDS))},
        {"role": "tool", "content": [{"type": "text", "text": M}]},
        {**item, "output": [{"type": "input_text", "text": M}]},
        item,
    ]
    replaced = draw(st.dictionaries(st.sampled_from(NAMES), values(), max_size=2))
    return draw(values()) if draw(st.booleans()) else {**draw(st.sampled_from(good)), **replaced}


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A request body; mostly an object with a list of messages."""
    body = draw(st.dictionaries(st.sampled_from(OUTSIDE), values(), max_size=3))
    for name in ("messages", "input"):
        body[name] = (
            draw(values())
            if draw(st.integers(0, 9)) == 0
            else draw(st.lists(messages(), max_size=4))
        )
    body["n"] = draw(st.sampled_from([1, 2, None, HUGE]))
    written = json.dumps(body).replace(f'"{HUGE}"', "1" * 5000)
    again = draw(st.sampled_from(["content", "role", "type", "model"]))
    if draw(st.integers(0, 4)) == 0:
        written = written.replace(f'"{again}": ', f'"{again}": "x", "{again}": ')
    return written.encode()


STEPS = (
    PipelineStep(json_format.COMPONENT, json_format.Config(min_tokens=1)),
    PipelineStep(dedup.COMPONENT, dedup.Config(min_tokens=1)),
    PipelineStep(collapse.COMPONENT, collapse.Config(max_tokens=50)),
    PipelineStep(mask.COMPONENT, mask.Config(keep_recent=0, min_tokens=1)),
    off_step(),
    PipelineStep(cachesplit.COMPONENT, None),
)


def prepared(body: bytes, dialect: Dialect, *steps: PipelineStep, **host: Any) -> Outgoing:
    """What is sent, with a store that keeps everything and finds nothing."""
    exchange = Exchange(Plan(steps, Host(**host)), Asked(dialect), persists=True)
    outgoing, _ = run_core(_answered(exchange.prepare(body)))
    assert isinstance(outgoing, Outgoing)
    return outgoing


def _answered(core: Core[Outgoing]) -> Core[Outgoing]:
    """The same, its recalls answered."""
    answer: Any = None
    try:
        while True:
            effect: Effect = core.send(answer)
            if isinstance(effect, Recall):
                answer = Recalled(Found.LOST)
            else:
                assert isinstance(effect, OpenTurn | Commit)
                answer = yield effect
    except StopIteration as done:
        result: Outgoing = done.value
        return result


@pytest.mark.parametrize("dialect", list(Dialect))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(body=bodies())
def test_a_body_about_which_nothing_is_decided_is_sent_to_the_byte(
    dialect: Dialect, body: bytes
) -> None:
    assert prepared(body, dialect).body == body or b"context_guru_" in body


@pytest.mark.parametrize("dialect", list(Dialect))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(body=bodies())
def test_no_body_raises_and_only_the_conversation_the_system_prompt_and_the_tools_change(
    dialect: Dialect, body: bytes
) -> None:
    sent = prepared(body, dialect, *STEPS, inject_expand="always").body

    if sent != body:
        shaped = dict.fromkeys(("tools", "system", dialect.list_name))
        before, after = (json.loads(each, parse_int=str) for each in (body, sent))
        assert {**before, **shaped} == {**after, **shaped}
