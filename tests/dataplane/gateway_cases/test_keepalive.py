"""Keep-alive pings on a running node (03 §7.3, 10.10 (138, 139)).

Time passes as requests say: a request at T lets everything happen first that is due until T.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from dataplane.core.effects import OpenTurn, Scope
from tests.dataplane.gateway_cases.living import (
    KEY,
    LONG_TEXT,
    T0,
    Live,
    body,
)
from tests.dataplane.telemetry.reading import value
from tests.patience import until

# ---- what a ping is ----------------------------------------------------------------------------


async def test_case_138_an_idle_session_is_pinged_with_its_last_bytes(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        before = await life.stats(289)
        after = await life.stats(290)
        ((pinged_at, ping),) = life.pings
        sent = life.served.simulator.requests[-1]

    assert before["pings"] == 0
    assert (after["pings"], after["read"], after["live_sessions"]) == (1, 1, 1)
    assert pinged_at == 290
    differing = body(2).replace(b'"max_tokens": 4096', b'"max_tokens": 1')
    assert ping == differing.replace(b'"stream": true', b'"stream": false')
    assert sent.path == "/v1/messages?beta=true"
    names = {name.lower().decode() for name, _ in sent.headers}
    assert names == {
        "host", "content-length", "content-type", "anthropic-version", "x-api-key",
        "x-headrace-now",
    }  # fmt: skip
    assert sent.header("x-api-key") == KEY


async def test_case_138_a_ping_is_a_row_of_its_own_and_spend_but_no_request(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        without = await life.all_stats(289)
        stats = await life.all_stats(291)
        rows = await life.rows()

    (ping,) = [row for row in rows if row.origin == "keepalive"]
    assert (ping.session, ping.at, ping.status) == ("s", int((T0 + 290) * 1000), 200)
    assert ping.cache_read >= 30_000
    assert ping.cache_write == 0
    assert ping.cost_usd is not None
    assert Decimal(ping.cost_usd) == Decimal(stats["keepalive"]["spend_usd"]) > 0
    assert Decimal(stats["billed_usd"]) - Decimal(without["billed_usd"]) == Decimal(ping.cost_usd)
    for name in ("all_requests", "upstream_rounds", "cache_read_tokens", "output_tokens"):
        assert stats[name] == without[name], name
    assert [row.origin for row in rows] == ["agent", "agent", "keepalive"]


async def test_case_138_the_idle_clock_restarts_at_the_start_of_the_ping(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        await life.stats(600)
        scope = Scope("ten_acme", "pa", "s")
        looked = OpenTurn(scope, 3, T0 + 601, 300, offered=False)
        view = await life.served.gateway.node.store.open_turn(looked)

    assert [at for at, _ in life.pings] == [290, 570]
    assert view.previous is not None
    assert (view.previous.at, view.previous.messages) == (T0 + 570, 3)


async def test_as_many_pings_as_the_document_allows_and_then_nothing_is_kept(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        stats = await life.stats(2_000)

    assert [at for at, _ in life.pings] == [290, 570]
    assert (stats["live_sessions"], stats["gates"]["pings_spent"]) == (0, 1)


async def test_a_request_comes_first_and_starts_the_clock_anew(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        await life.turn(3, 200)
        stats = await life.stats(479)

    assert (stats["pings"], stats["live_sessions"]) == (0, 1)


async def test_a_return_that_only_pings_kept_warm_is_a_rescue_with_its_worth(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        await life.turn(3, 700)
        stats = await life.stats(701)
        returned = (await life.rows())[-1]

    assert (stats["pings"], stats["rescues"]) == (2, 1)
    assert returned.cache_read >= 30_000
    worth = returned.cache_read * (Decimal("2.50") - Decimal("0.20")) / 1_000_000
    assert Decimal(stats["rescued_usd"]) == pytest.approx(worth)
    net = Decimal(stats["rescued_usd"]) - Decimal(stats["spend_usd"])
    assert Decimal(stats["net_usd"]) == net > 0


async def test_a_return_within_the_lifetime_owes_the_pings_nothing(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        await life.turn(3, 305)
        stats = await life.stats(306)

    assert (stats["pings"], stats["rescues"]) == (1, 0)


async def test_threads_of_one_session_are_kept_apart(live: Live) -> None:
    async with live() as life:
        for number, at in ((1, 0), (2, 10)):
            await life.turn(number, at)
            agent = {"x-context-guru-session": "s", "x-claude-code-agent-id": "sub"}
            await life.send(body(number, text="Sub. " + LONG_TEXT), at + 5, agent)
        await life.stats(296)

    assert [at for at, _ in life.pings] == [290, 295]


# ---- what ends badly ---------------------------------------------------------------------------


async def test_case_139_a_ping_that_writes_is_an_error_and_the_last_of_the_tenant(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    async with live() as life:
        for session in ("s", "t"):
            await life.turn(1, 0, session=session)
            await life.turn(2, 10, session=session, text=session + LONG_TEXT)
            await life.turn(3, 20, session=session, text=session + LONG_TEXT)
        life.served.simulator._provider.clear()
        stats = await life.stats(1_000)
        await life.turn(4, 1_001)
        await life.turn(5, 1_002)
        later = await life.stats(2_000)
        page = (await life.served.send("GET", "/metrics")).text

    assert (stats["pings"], stats["wrote_instead_of_read"]) == (1, 1)
    assert (stats["live_sessions"], stats["gates"]["stopped_after_write"]) == (0, 2)
    assert (later["pings"], later["gates"]["stopped_after_write"]) == (1, 4)
    errors = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert errors == ["cg.keepalive_wrote tenant=ten_acme session=s"]
    assert value(page, "cg_keepalive_pings_total", outcome="wrote") == 1
    assert value(page, "cg_keepalive_spend_usd") == float(later["spend_usd"]) > 0


@pytest.mark.parametrize(
    ("answer", "pings", "gate"),
    [
        pytest.param({"status": 400}, [290], "refused_by_provider", id="refused"),
        pytest.param({"status": 529}, [290], "cache_expired", id="overloaded"),
        pytest.param({"cut_after_bytes": 20}, [290], "cache_expired", id="cut"),
    ],
)
async def test_a_ping_that_fails_is_not_repeated(
    live: Live, answer: dict[str, Any], pings: list[float], gate: str
) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        life.served.simulator.script(answer)
        stats = await life.stats(1_000)

    assert [at for at, _ in life.pings] == pings
    assert (stats["pings"], stats["failed"], stats["gates"]) == (
        1,
        1,
        {"first_request": 1, gate: 1},
    )
    assert stats["live_sessions"] == 0


async def test_a_session_that_went_on_in_another_process_is_left_to_it(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        elsewhere = OpenTurn(Scope("ten_acme", "pa", "s"), 5, T0 + 100, 300, offered=False)
        await life.served.gateway.node.store.open_turn(elsewhere)
        stats = await life.stats(500)

    assert (stats["pings"], stats["skipped"], stats["gates"]["newer_request"]) == (0, 1, 1)


async def test_a_ping_on_its_way_ends_when_a_request_arrives(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        life.served.simulator.script({"head_delay_ms": 60_000})
        (kept,) = life.kept
        task = life.served.gateway.node.keepalive._step(kept, T0 + 290)
        assert task is not None
        await until(lambda: bool(life.pings))
        await life.turn(3, 291)
        await asyncio.wait((task,))
        rows = await life.rows()

    assert task.cancelled()
    assert [(row.origin, row.status) for row in rows[2:]] in (
        [("keepalive", 499), ("agent", 200)],
        [("agent", 200), ("keepalive", 499)],
    )
    assert bytes(kept.body._buffer) == bytes(len(kept.body))
