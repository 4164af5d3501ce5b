"""What the R cases of 08-field-cases.md ask for beyond their files: the way back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.field_cases import casefile, invariants
from tests.dataplane.field_cases.checks import undeclared
from tests.dataplane.gateway import TA, TB, tenants
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL, Serve, Served
from tests.dataplane.recovery_cases.nodes import NodeProcess, node_process
from tests.dataplane.recovery_cases.scripted import (
    PLACEHOLDER,
    X4000,
    X4000_ID,
    done,
    items,
    message,
    r,
    raw_json,
    results,
    x,
)
from tests.patience import PATIENCE_S

BASALT = AGENT | {"x-context-guru-token": TB}


# ---- another tenant's original ----------------------------------------------------------


async def test_case_r_01_a_foreign_id_in_a_tool_call_is_one_that_never_was(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "headrace")
    await served.post(anthropic_body(X4000), x_context_guru_session="s1")
    before = served.stats("acme")

    told = []
    for wanted in (X4000_ID, "f" * 16):
        served.simulator.script(raw_json(message(x(wanted))), raw_json(done()))
        known = len(served.sent)
        await served.send(
            "POST",
            "/v1/messages",
            content=anthropic_body("short"),
            headers=BASALT | {"x-context-guru-session": "s1"},
        )
        told += [text.replace(wanted, "ID") for text in results(served.sent[known:])]

    assert told == [PLACEHOLDER.format(id="ID")] * 2
    clocks = ("uptime_s", "snapshot")
    assert {k: v for k, v in served.stats("acme").items() if k not in clocks} == {
        k: v for k, v in before.items() if k not in clocks
    }
    lines = [each.getMessage() for each in caplog.records if "cg.expand" in each.getMessage()]
    assert len(lines) == 2
    assert all("tenant=ten_birch" in line for line in lines)


async def test_case_r_01_whoever_asks_for_it_by_address_is_named_in_the_log(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "headrace")
    await served.post(anthropic_body(X4000), x_context_guru_session="s1")

    headers = {"x-context-guru-token": TB, "x-context-guru-session": "s1"}
    answer = await served.send("GET", f"/expand?id={X4000_ID}", headers=headers)

    assert answer.status_code == 404
    (line,) = [each for each in caplog.messages if "cg.refused" in each]
    assert "tenant=ten_birch" in line


# ---- a recovery call beside a tool of the client ----------------------------------------


async def test_case_r_07_the_clients_answer_to_our_call_is_put_right_afterwards(
    served: Served,
) -> None:
    await served.post(anthropic_body(X4000), x_context_guru_session="s")
    mixed = message(x(X4000_ID), r("bash"))
    served.simulator.script(raw_json(mixed))
    answer = await served.post(anthropic_body(X4000), x_context_guru_session="s")
    body = json.loads(anthropic_body(X4000))
    unknown = {"type": "tool_result", "tool_use_id": "toolu_x", "content": [], "is_error": True}
    ours = {"type": "tool_result", "tool_use_id": "toolu_r", "content": "ran"}
    body["messages"] += [
        {"role": "assistant", "content": json.loads(mixed)["content"]},
        {"role": "user", "content": [unknown, ours]},
    ]

    await served.post(json.dumps(body).encode(), x_context_guru_session="s")

    assert answer.content == mixed
    assert len(served.sent) == 3
    turns = json.loads(served.sent[2])["messages"]
    invariants.pairs_hold(turns)
    repaired, untouched = turns[-1]["content"]
    assert X4000_ID in repaired["content"] or repaired["content"] == X4000
    assert X4000 in json.dumps(turns)
    assert repaired["is_error"] is False
    assert untouched == ours


# ---- markers without a way to redeem them -----------------------------------------------


def test_case_r_09_full_markers_without_a_store_are_refused_at_validation() -> None:
    case = casefile.load("R-09")

    checked = check(case.turns[0].asked.body, context=Context(components()))

    assert checked.effective is None
    wanted = case.turns[0].expect["error_paths"]
    errors = [each for each in checked.problems if each.severity == "error"]
    assert [each.path.replace("/", ".").lstrip(".") for each in errors] == wanted


async def test_case_r_09_without_tools_nothing_is_removed_by_name(served: Served) -> None:
    asked = anthropic_body(X4000, tools=())

    await served.post(asked)

    assert served.sent == [asked]
    assert served.stats()["components"]["mask"]["gates"] == {"no_recovery_path": 1}


async def test_case_r_09_an_observed_tenant_gets_no_marker(serve: Serve) -> None:
    asked = anthropic_body(X4000)
    async with serve(MASK_ALL + "mode: observe\n") as served:
        await served.post(asked)

        assert served.sent == [asked]
        assert served.stats()["bypassed"] == {"observe": 1}


# ---- written by one worker, redeemed by another -----------------------------------------

WORKERS, TURNS = 4, 40


async def test_case_r_11_every_worker_redeems_what_another_one_wrote(
    tmp_path: Path, simulator: Simulator
) -> None:
    specs = tenants(MASK_ALL)
    workers = [node_process(tmp_path, specs, simulator.url) for _ in range(WORKERS)]
    async with contextlib.AsyncExitStack() as stack:
        client = httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S)
        http = await stack.enter_async_context(client)
        for worker in workers:
            await worker.start()
            stack.push_async_callback(worker.kill)
        await asyncio.gather(*(worker.wait_until_ready() for worker in workers))
        for number in range(TURNS):
            await _mask(http, workers[number % WORKERS], number)
        await workers[0].kill()
        await workers[0].start()
        await workers[0].wait_until_ready()

        found = [
            await _redeem(http, workers[(number + 1 + number // WORKERS) % WORKERS], number, body)
            for number, body in enumerate([each.body for each in simulator.requests])
        ]

    assert found == [_text(number) for number in range(TURNS)]


async def test_case_r_11_workers_with_stores_of_their_own_say_so_at_the_start(
    tmp_path: Path, simulator: Simulator
) -> None:
    specs = tenants(MASK_ALL + "store: {backend: memory}\n")
    first, second = (node_process(tmp_path, specs, simulator.url) for _ in range(2))
    warning = "cg.memory_store_not_shared workers=2 tenants=ten_acme,ten_birch"
    try:
        for worker in (first, second):
            await worker.start()
            await worker.wait_until_ready()
            if worker is first:
                assert "not_shared" not in first.log.read_text()

        assert warning in second.log.read_text()
    finally:
        await first.kill()
        await second.kill()


def _text(number: int) -> str:
    return f"output {number} of a worker\n" * 60


async def _mask(http: httpx.AsyncClient, worker: NodeProcess, number: int) -> None:
    # Sessions that begin with the same words are taken for one conversation under two names.
    body = anthropic_body(_text(number)).replace(b"Fix the test.", b"Fix test %d." % number)
    headers = AGENT | {"x-context-guru-session": f"s{number}"}
    answer = await http.post(worker.url + "/v1/messages", content=body, headers=headers)
    assert answer.status_code == 200


async def _redeem(http: httpx.AsyncClient, worker: NodeProcess, number: int, sent: bytes) -> str:
    (marker_id,) = re.findall(r"<<cg:([0-9a-f]{16})>>", sent.decode())
    headers = {"x-context-guru-token": TA, "x-context-guru-session": f"s{number}"}
    return (await http.get(f"{worker.url}/expand?id={marker_id}", headers=headers)).text


# ---- what the model is told, and what starts the machinery ------------------------


async def test_case_r_03_an_unredeemable_call_beside_a_redeemable_one_keeps_its_place(
    served: Served,
) -> None:
    await served.post(anthropic_body(X4000), x_context_guru_session="s")
    calls = [x("0" * 15 + "1", "toolu_1"), x(X4000_ID, "toolu_2"), x("", "toolu_3")]
    served.simulator.script(raw_json(message(*calls)), raw_json(done()))

    await served.post(anthropic_body(X4000), x_context_guru_session="s")

    continuation = json.loads(items(served.sent[2], "messages")[-1])["content"]
    assert [each["tool_use_id"] for each in continuation] == ["toolu_1", "toolu_2", "toolu_3"]
    assert continuation[1]["content"] == X4000
    assert all("no longer available" in continuation[n]["content"] for n in (0, 2))


async def test_case_r_06_a_quoted_marker_in_a_tool_does_not_start_a_recovery(
    served: Served,
) -> None:
    quoting: dict[str, Any] = {
        "name": "note",
        "description": f"Writes <<cg:{X4000_ID}>> down.",
        "input_schema": {"type": "object"},
    }
    body = json.loads(anthropic_body("short", stream=True))
    body["tools"].append(quoting)
    asked = json.dumps(body).encode()

    await served.post(asked)

    assert undeclared(served.sent[0]) == asked
    assert served.stats()["sse_streamed"] == 1
    assert served.stats()["sse_buffered"] == 0
