"""Lone surrogates, which no parser reads, hinder nothing but their own text (03 §2.7)."""

from __future__ import annotations

import json

from dataplane.core.asked import Asked
from dataplane.core.components import cachesplit
from dataplane.core.exchange import Exchange
from dataplane.core.port.declaration import PipelineStep
from dataplane.core.resource import Host
from dataplane.core.serving.plan import Plan
from dataplane.core.wire.message import Dialect
from tests.dataplane.core.build import M_ID, M, anthropic_body, off_step, run_core

STABLE = "You are careful.\n" * 300
VOLATILE = "Recent commits:\nabc fix\n"
SPLIT = PipelineStep(cachesplit.COMPONENT, None)


def exchange(*steps: PipelineStep) -> Exchange:
    return Exchange(Plan(steps, Host()), Asked(Dialect.ANTHROPIC), persists=True)


def test_an_output_is_replaced_and_a_round_is_appended_beside_one() -> None:
    talk = exchange(off_step())
    body = anthropic_body(M).replace(b"Fix the test.", rb"Fix \udead.")

    outgoing, _ = run_core(talk.prepare(body))
    continued = talk.continuation([b'{"role":"user","content":"more"}'])

    assert f"<<cg:{M_ID}>>".encode() in outgoing.body
    assert rb"Fix \udead." in outgoing.body
    assert json.loads(continued)["messages"][-1] == {"role": "user", "content": "more"}
    assert continued.startswith(outgoing.body[: outgoing.body.index(b'], "tools"')])


def test_a_system_prompt_with_one_is_not_split_and_the_rest_goes_on() -> None:
    talk = exchange(SPLIT, off_step())
    system = [{"type": "text", "text": STABLE + VOLATILE}]
    plain = anthropic_body(M, system=system)
    odd = plain.replace(b"abc fix", rb"abc \udead")

    split, _ = run_core(talk.prepare(plain))
    whole, _ = run_core(exchange(SPLIT, off_step()).prepare(odd))

    assert len(json.loads(split.body)["system"]) == 2
    assert len(json.loads(whole.body)["system"]) == 1
    assert f"<<cg:{M_ID}>>".encode() in whole.body
