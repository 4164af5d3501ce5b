"""What is not kept alive, and what is overwritten (03 §7.3, 10.10 (140)).

Time passes as requests say: a request at T lets everything happen first that is due until T.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from dataplane.core import resource
from dataplane.simulator import Simulator
from tests.dataplane.gateway import tenant_resource, tenants
from tests.dataplane.gateway_cases.living import (
    KEY,
    OFF,
    ON,
    Life,
    Live,
    body,
)
from tests.dataplane.gateway_cases.served import Serve
from tests.dataplane.telemetry.reading import value
from tests.fakes.receiver import Receiver
from tests.patience import until

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}}


@pytest.mark.parametrize(
    ("document", "settings", "members", "gate"),
    [
        pytest.param(ON, {}, THINKING, "thinking_enabled", id="140-thinking"),
        pytest.param(ON, {"keepalive": False}, {}, "kill_switch", id="140-kill switch"),
        pytest.param(ON, {"sink": None}, {}, "no_audit_sink", id="nobody is told"),
        pytest.param(
            "cache: {keepalive: true, keepalive_min_prefix_tokens: 40000}",
            {}, {}, "prefix_below_min", id="140-prefix",
        ),
        pytest.param(
            "cache: {keepalive: true, keepalive_max_usd_per_ping: 0.001}",
            {}, {}, "too_expensive", id="too expensive",
        ),
        pytest.param(ON, {}, {"model": "claude-unheard-of"}, "price_unknown", id="price"),
        pytest.param(
            "cache: {keepalive: true, keepalive_max_pings: 0}",
            {}, {}, "no_pings_allowed", id="no ping allowed",
        ),
        pytest.param(ON, {}, {"text": "short"}, "no_cache_activity", id="no cache"),
    ],
)  # fmt: skip
async def test_case_140_a_closed_gate_keeps_nothing_and_says_its_name(
    live: Live, document: str, settings: dict[str, Any], members: dict[str, Any], gate: str
) -> None:
    async with live(document, **settings) as life:
        await life.turn(1, 0, **members)
        await life.turn(2, 10, **members)
        assert life.kept == []
        stats = await life.stats(1_000)

    assert stats["gates"][gate] >= 1
    assert (stats["pings"], life.pings) == (0, [])


async def test_case_140_the_first_request_of_a_session_leaves_nothing(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        assert life.kept == []
        stats = await life.stats(1_000)
        page = (await life.served.send("GET", "/metrics")).text

    assert (stats["gates"], stats["pings"]) == ({"first_request": 1}, 0)
    labels = {"component": "keepalive", "gate": "first_request"}
    assert value(page, "cg_component_gate_declines_total", **labels) == 1


async def test_a_request_that_is_refused_leaves_nothing(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        life.served.simulator.script({"status": 529})
        await life.send(body(2), 10, {"x-context-guru-session": "s"}, status=529)
        stats = await life.stats(1_000)

    assert (stats["gates"]["not_success"], stats["pings"]) == (1, 0)


async def test_without_consent_nothing_is_kept_or_counted(live: Live) -> None:
    async with live(OFF) as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        assert life.kept == []
        stats = await life.all_stats(1_000)

    assert "keepalive" not in stats


async def test_case_140_without_slack_a_ping_is_skipped_and_no_request_refused(
    serve: Serve,
) -> None:
    document = "cache: {keepalive: true, keepalive_idle_seconds: 20, keepalive_max_pings: 3}"
    specs = tenants(document, limits=resource.Limits(rpm=4))
    sink = Receiver()
    async with serve(specs=specs, sink=sink, test_clock=True) as served:
        life = Life(served, sink)
        for number, at in ((1, 21), (2, 22), (3, 23)):  # a minute begins at 20 and at 80
            await life.turn(number, at)
        skipped = await life.stats(44)
        await life.turn(4, 45)
        pinged = await life.stats(90)

    assert (skipped["pings"], skipped["skipped"], skipped["gates"]["no_slack"]) == (0, 1, 1)
    assert (pinged["pings"], pinged["read"], pinged["skipped"]) == (1, 1, 2)


async def test_case_140_consent_withdrawn_overwrites_the_buffers_at_once(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        (kept,) = life.kept
        assert kept.secret.reveal() == b"x-api-key:" + KEY.encode()
        withdrawn = tenant_resource(tenants(OFF)[0], version=2)
        life.served.gateway.node.snapshots._apply(withdrawn)
        buffers = (kept.body._buffer, kept.secret._buffer)
        stats = await life.stats(1_000)

    assert [set(buffer) for buffer in buffers] == [{0}, {0}]
    assert (stats["live_sessions"], stats["pings"]) == (0, 0)
    assert stats["gates"]["consent_withdrawn"] == 1


@pytest.mark.parametrize(
    ("document", "facts", "gate"),
    [
        pytest.param(ON, {"status": "disabled"}, "tenant_gone", id="disabled"),
        pytest.param(ON, {"status": "purged"}, "tenant_gone", id="purged"),
        pytest.param(
            "cache: {keepalive: true, keepalive_max_pings: 3}", {}, "configuration_changed",
            id="changed",
        ),
    ],
)  # fmt: skip
async def test_what_a_new_configuration_does_not_ask_for_is_let_go(
    live: Live, document: str, facts: dict[str, Any], gate: str
) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        (kept,) = life.kept
        changed = tenant_resource(tenants(document, **facts)[0], version=2)
        life.served.gateway.node.snapshots._apply(changed)
        counted = life.served.gateway.node.telemetry.of("ten_acme").not_kept

    assert set(kept.secret._buffer) == {0}
    assert counted[gate] == 1


async def test_a_revoked_token_takes_its_sessions_with_it(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        (kept,) = life.kept
        snapshots = life.served.gateway.node.snapshots
        snapshots._remove(resource.AUTH_INDEX, kept.digest[0])
        counted = life.served.gateway.node.telemetry.of("ten_acme").not_kept

    assert set(kept.secret._buffer) == {0}
    assert counted["token_revoked"] == 1


async def test_the_end_of_the_process_overwrites_everything(live: Live) -> None:
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        (kept,) = life.kept
    assert set(kept.body._buffer) == {0}
    assert set(kept.secret._buffer) == {0}


async def test_a_request_that_ends_while_the_process_ends_leaves_nothing(live: Live) -> None:
    async with live() as life:
        node = life.served.gateway.node
        await life.turn(1, 0)
        life.served.simulator.script({"head_delay_ms": 300})
        last = asyncio.ensure_future(life.turn(2, 10))
        await until(lambda: node.door.inflight > 0 and len(life.served.simulator.requests) > 1)
        node.door.is_draining = True
        await last
        counted = node.telemetry.of("ten_acme").not_kept
        assert life.kept == []

    assert counted["draining"] == 1


async def test_when_there_is_no_room_the_longest_deadline_goes(live: Live) -> None:
    async with live(keepalive_max_sessions=2) as life:
        for number, session in enumerate(("s", "t", "u")):
            await life.turn(1, number, session=session)
            await life.turn(2, 10 + number, session=session)
        kept = [each.turn.scope.session for each in life.kept]
        stats = await life.stats(20)

    assert kept == ["s", "u"]
    assert (stats["live_sessions"], stats["gates"]["no_room"]) == (2, 1)


async def test_a_held_key_is_read_anew_for_each_ping_and_never_kept(serve: Serve) -> None:
    keys = {"held": "sk-held"}
    sink = Receiver()
    held = {"key_ref": "held"}
    async with serve(
        specs=tenants(ON), sink=sink, test_clock=True, upstream=held, secrets=keys.get
    ) as served:
        life = Life(served, sink)
        await life.turn(1, 0)
        await life.turn(2, 10)
        (kept,) = life.kept
        await life.stats(300)
        secret = len(kept.secret)
        del keys["held"]
        stats = await life.stats(600)

    assert secret == 0
    assert served.simulator.requests[-1].header("x-api-key") == "sk-held"
    assert stats["gates"] == {"first_request": 1, "credential_missing": 1}


async def test_no_log_line_and_no_figure_holds_what_is_kept(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "headrace")
    async with live() as life:
        await life.turn(1, 0)
        await life.turn(2, 10)
        stats = await life.all_stats(700)
        rows = await life.rows()

    told = caplog.text + json.dumps(stats) + repr(rows)
    assert KEY not in told
    assert "It is written here" not in told
    assert len(re.findall(r"cg\.request .*origin=keepalive", caplog.text)) == 2


async def test_without_a_test_clock_time_passes_by_itself(
    serve: Serve, simulator: Simulator
) -> None:
    document = "cache: {keepalive: true, keepalive_idle_seconds: 1, keepalive_max_pings: 1}"
    async with serve(document, sink=Receiver()) as served:
        for number in (1, 2):
            await served.post(body(number), x_context_guru_session="s")
        await until(lambda: served.stats()["keepalive"]["pings"] > 0)
        stats = served.stats()["keepalive"]

    assert (stats["read"], stats["live_sessions"]) == (1, 0)
    assert b'"max_tokens": 1,' in simulator.requests[-1].body
