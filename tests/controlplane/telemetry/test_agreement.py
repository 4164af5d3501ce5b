"""Pages, /stats, /metrics and an export say the same of a session that was played."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import AsyncIterator, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db.models import Sum

from controlplane.accounts.models import User
from controlplane.accounts.scopes import Scope, scope_of_user
from controlplane.telemetry import queries
from controlplane.telemetry.models import (
    NodeStream,
    RequestRecord,
    SessionRecord,
    SignalBucket,
)
from controlplane.telemetry.queries import CSV, NDJSON, RequestFilter, State, Window
from dataplane.simulator import Simulator
from tests import house
from tests.controlplane.telemetry.replay import AGENT, MASK_ALL, Reporting, reporting, turn
from tests.dataplane.gateway import tenants
from tests.patience import PATIENCE_MS, until

pytestmark = pytest.mark.django_db(transaction=True)

TENANT = "ten_acme"
# A column of the records, and the field of /stats that it adds up to.
SAME = {
    "tokens_before": "tokens_before",
    "tokens_after": "tokens_after",
    "attempted_tokens": "attempted_tokens",
    "saved_unique": "saved_tokens_unique",
    "fresh_input": "fresh_input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "output": "output_tokens",
    "expands": "bounces",
    "expand_tokens": "wasted_tokens",
}


@pytest.fixture
def everything(manager: User) -> Scope:
    return scope_of_user(manager)


@pytest.fixture
async def node(
    transactional_db: None, tmp_path: Path, simulator: Simulator
) -> AsyncIterator[Reporting]:
    async with reporting(tmp_path, simulator, tenants(MASK_ALL)) as running:
        yield running


async def play(node: Reporting, turns: int) -> None:
    """A session, with a turn that nobody can price and one that goes through unshaped."""
    for number in range(1, turns + 1):
        await node.served.post(turn(number), x_context_guru_session="s1")
    await node.served.post(turn(1, model="claude-unlisted-77"), x_context_guru_session="s1")
    await node.served.post(turn(1), x_context_guru_session="s1", x_context_guru_bypass="1")
    await node.reported()


@sync_to_async
def records() -> dict[str, Any]:
    rows = RequestRecord.objects.filter(tenant_uid=TENANT)
    dollars = {name: Sum(name) for name in ("cost_usd", "saved_usd")}
    return rows.aggregate(**{name: Sum(name) for name in SAME}, **dollars)


async def test_records_buckets_and_stats_agree_to_the_token_and_the_cent(
    node: Reporting, everything: Scope
) -> None:
    await play(node, 6)

    stats, summed = node.served.stats(), await records()
    figures = await sync_to_async(queries.totals)(everything, Window.last(3600), tenant=TENANT)
    for column, field in SAME.items():
        assert (column, summed[column]) == (column, stats[field])
        assert (column, getattr(figures, column)) == (column, stats[field])
    assert summed["cost_usd"] == figures.cost_usd == Decimal(stats["billed_usd"]) > 0
    saved = Decimal(stats["baseline_usd"]) - Decimal(stats["billed_usd"])
    assert summed["saved_usd"] == figures.saved_usd == saved > 0
    assert stats["saved_tokens"] > stats["saved_tokens_unique"] > 0  # 08 §A-09
    assert (figures.requests, figures.unpriced) == (8, 1)
    assert figures.state is State.OK


async def test_components_and_gates_agree_with_stats(node: Reporting, everything: Scope) -> None:
    await play(node, 4)

    stats = node.served.stats()["components"]["mask"]
    mask = await sync_to_async(queries.component)(
        everything, "mask", Window.last(3600), tenant=TENANT
    )
    for name in ("runs", "acted", "acted_fresh", "acted_replay", "mutated", "saved_unique"):
        field = {"saved_unique": "saved_tokens_unique"}.get(name, name)
        assert (name, mask.counts[name]) == (name, stats[field])
    assert {gate.name: gate.n for gate in mask.gates} == stats["gates"]
    assert {event.name: event.n for event in mask.events} == stats["events"]


async def test_the_metrics_page_agrees(node: Reporting, everything: Scope) -> None:
    await play(node, 3)

    page = (await node.served.http.get(node.served.gateway.url + "/metrics")).text
    values = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    figures = await sync_to_async(queries.totals)(everything, Window.last(3600))
    assert float(values["cg_tokens_before_total"]) == figures.tokens_before
    assert float(values["cg_saved_tokens_total"]) == figures.saved_gross
    assert float(values['cg_billed_tokens_total{tier="output"}']) == figures.output


async def test_an_export_adds_up_to_the_same(node: Reporting, everything: Scope) -> None:
    await play(node, 3)

    stats = node.served.stats()
    text = await exported(everything, NDJSON)
    rows = [json.loads(line) for line in text.splitlines()]
    table = list(csv.DictReader(io.StringIO(await exported(everything, CSV))))
    for found in (rows, table):
        assert sum(int(row["tokens_after"]) for row in found) == stats["tokens_after"]
        assert cents(found) == Decimal(stats["billed_usd"])


@sync_to_async
def exported(scope: Scope, form: str) -> str:
    return b"".join(
        piece.body for piece in queries.export(scope, RequestFilter(tenant=TENANT), form)
    ).decode()


def cents(rows: Iterable[dict[str, Any]]) -> Decimal:
    return sum((Decimal(row["cost_usd"]) for row in rows if row["cost_usd"]), Decimal(0))


async def test_what_the_database_counted_is_what_the_node_says_it_counted(
    node: Reporting,
) -> None:  # 04 §A-08
    await play(node, 2)

    stream = await NodeStream.objects.aget()
    assert stream.requests == stream.claimed == 4


async def test_every_candidate_is_accounted_for(node: Reporting) -> None:  # 08 §D-10
    await node.served.post(turn(5), x_context_guru_session="s1")
    await node.reported()

    declined = await SignalBucket.objects.filter(resolution_s=10, kind="gate").aaggregate(
        n=Sum("n")
    )
    stats = node.served.stats()["components"]["mask"]
    assert (declined["n"] or 0) == sum(stats["gates"].values())


def case(name: str) -> dict[str, Any]:
    file = house.ROOT / "tests" / "data" / "cases" / f"{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def round_of(upstream: dict[str, Any]) -> dict[str, Any]:
    """What the simulated provider writes: exactly the bytes of the case."""
    chunks = upstream.get("sse_chunks_b64")
    raw = [base64.b64encode(upstream["body_text"].encode()).decode()] if chunks is None else chunks
    return {"raw_b64": raw, "status": upstream["status"], "headers": upstream["headers"]}


TIERS = {
    "fresh_input": "fresh_input",
    "cache_read": "cache_read",
    "cache_write_5m": "cache_write",
    "output": "output",
}


@pytest.mark.parametrize("name", ["A-01", "A-02", "A-06"])
async def test_the_row_of_a_case_says_what_it_cost(
    name: str, node: Reporting, simulator: Simulator
) -> None:
    written = case(name)
    request, expect = written["request"], written["expect"]
    if not expect["usd"]:
        # What answered is what is priced: the answer has to name the unlisted model, too.
        named = json.loads(request["body_text"])["model"]
        told = written["upstream"]["body_text"].replace("claude-sonnet-5", named)
        written["upstream"]["body_text"] = told
    simulator.script(round_of(written["upstream"]))

    await node.served.send(
        "POST", request["path"], content=request["body_text"],
        headers={**request["headers"], **AGENT},
    )  # fmt: skip
    await node.reported()

    row = await RequestRecord.objects.aget()
    for tier, tokens in expect.get("usage", {}).items():
        assert (tier, getattr(row, TIERS[tier])) == (tier, tokens)
    assert row.cost_usd == (Decimal(expect["usd"]) if expect["usd"] else None)
    assert row.accounting == ("complete" if expect["usd"] else "partial")


async def test_case_a_08_the_providers_own_caching_is_no_saving_of_ours(
    node: Reporting, everything: Scope, simulator: Simulator
) -> None:
    usage = {"input_tokens": 70, "cache_read_input_tokens": 930, "output_tokens": 5}
    body = json.loads(case("A-01")["upstream"]["body_text"]) | {"usage": usage}
    told = {"status": 200, "headers": {"content-type": "application/json"}}
    simulator.script(round_of({**told, "body_text": json.dumps(body)}))

    await node.served.post(turn(0))
    await node.reported()

    figures = await sync_to_async(queries.totals)(everything, Window.last(3600))
    assert (figures.saved_gross, figures.saved_unique, figures.cache_read) == (0, 0, 930)


async def test_case_a_05_a_client_that_leaves_leaves_one_row_with_its_input_exact(
    node: Reporting, simulator: Simulator
) -> None:
    written = case("A-05")
    request, upstream = written["request"], written["upstream"]
    # The rest of the stream comes so late that only who hangs up sees its end.
    simulator.script({**round_of(upstream), "gap_ms": 1000 * PATIENCE_MS})

    async with node.served.http.stream(
        "POST", node.served.gateway.url + request["path"], content=request["body_text"],
        headers={**request["headers"], **AGENT},
    ) as answer:  # fmt: skip
        await anext(answer.aiter_raw())
    await until(lambda: simulator.requests[0].disconnected_at is not None)
    await node.reported()

    row = await RequestRecord.objects.aget()
    assert row.outcome == written["expect"]["row"]["outcome"]
    assert (row.fresh_input, row.cache_read) == tuple(written["expect"]["usage"].values())


async def test_case_a_09_what_was_removed_once_is_unique_once_however_often_it_is_sent(
    node: Reporting,
) -> None:
    body = json.loads(turn(1))
    for number in range(20):
        await node.served.post(json.dumps(body).encode(), x_context_guru_session="s1")
        body["messages"] += [
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": f"And {number}?"},
        ]
    await node.reported()

    stats = node.served.stats()
    session = await SessionRecord.objects.aget()
    assert stats["saved_tokens"] == 20 * stats["saved_tokens_unique"] > 0
    assert session.saved_unique == stats["saved_tokens_unique"]
    assert session.tokens_before - session.tokens_after == stats["saved_tokens"]
