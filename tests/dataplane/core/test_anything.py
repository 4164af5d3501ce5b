"""Whatever a client sends, shaping raises nothing, and changes nothing that was not decided."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
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
from tests.dataplane.core.bodies import bodies
from tests.dataplane.core.build import off_step, run_core
from tests.examples import examples

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
@examples(200)
@given(data=st.data())
def test_a_body_about_which_nothing_is_decided_is_sent_to_the_byte(
    dialect: Dialect, data: st.DataObject
) -> None:
    body = data.draw(bodies(dialect, st.just(value=False)))

    assert prepared(body, dialect).body == body or b"context_guru_" in body


@pytest.mark.parametrize("dialect", list(Dialect))
@examples(200)
@given(data=st.data())
def test_no_body_raises_and_only_the_conversation_the_system_prompt_and_the_tools_change(
    dialect: Dialect, data: st.DataObject
) -> None:
    body = data.draw(bodies(dialect))

    sent = prepared(body, dialect, *STEPS, inject_expand="always").body

    if sent != body:
        shaped = dict.fromkeys(("tools", "system", dialect.list_name))
        before, after = (json.loads(each, parse_int=str) for each in (body, sent))
        assert {**before, **shaped} == {**after, **shaped}
