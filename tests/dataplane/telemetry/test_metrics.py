"""The Prometheus page: complete from the start, bounded, and no burden (03 §6.2, 10.10)."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dataplane.adapters.figures import metrics
from dataplane.adapters.figures.tenant_refusals import KEYS_MAX, OTHER, REASONS, TenantRefusals
from dataplane.adapters.own import pages
from dataplane.adapters.own.pages import MetricsPages
from dataplane.core.components import components, mask
from dataplane.core.port.declaration import Declaration, Kind, PipelineStep
from dataplane.core.port.gates import OFFLOAD_GATES
from dataplane.core.port.report import RunReport, StepReport
from dataplane.core.port.signals import Event, Gate
from dataplane.core.port.turn import Decline, Happened, Step, ToolOutput, Turn
from dataplane.core.record import Record
from tests import house
from tests.dataplane.gateway import TA, TB
from tests.dataplane.gateway_cases.served import AGENT, LONG, Served, with_output
from tests.dataplane.telemetry.reading import samples, value

UNLABELLED = """
cg_requests_total cg_tokens_before_total cg_tokens_after_total cg_saved_tokens_total
cg_saved_tokens_unique_total cg_savings_ratio cg_cache_hit_ratio cg_added_latency_ms
cg_upstream_latency_ms cg_sse_ttfb_ms cg_expand_bounces_total cg_wasted_tokens_total
cg_expand_prefix_flips_total cg_adjudicate_stray_total cg_stash_refused_total
cg_stash_missing_total cg_stash_expired_total cg_stash_revived_total cg_usage_unparsed_total
cg_usage_estimated_total
cg_usage_unreadable_total cg_llm_calls_total cg_extract_cost_usd cg_extract_net_value_usd
cg_extract_latency_ms cg_snapshots_pinned cg_client_disconnects_total
cg_rewrite_failures_total cg_telemetry_dropped_total cg_keepalive_spend_usd
cg_added_seconds_count cg_upstream_first_byte_seconds_count cg_store_commit_seconds_count
"""
CLOSED = {
    "cg_billed_tokens_total": ("tier", "fresh_input cache_read cache_write output"),
    "cg_expand_unresolved_total": (
        "reason",
        "malformed missing never_minted foreign_session foreign_tenant",
    ),
    "cg_frozen_decisions_total": ("outcome", "hit miss dropped repaired"),
    "cg_sse_streams_total": ("path", "streamed buffered"),
    "cg_refused_requests_total": (
        "reason",
        "auth forbidden no_provider_key bad_request body_too_large rate_limit no_upstream "
        "upstream_error overloaded",
    ),
    "cg_llm_tokens_total": ("direction", "input output"),
    "cg_llm_failures_total": ("kind", "timeout error"),
    "cg_extract_calls_total": ("outcome", "made avoided suppressed"),
    "cg_pristine_resends_total": ("outcome", "recovered same"),
    "cg_observe_jobs_total": ("outcome", "processed dropped coalesced error"),
    "cg_keepalive_pings_total": ("outcome", "read wrote failed skipped"),
    "cg_request_duration_seconds_count": (
        "route",
        "messages count_tokens chat_completions responses models embeddings passthrough",
    ),
}
UNSAFE = ("cg_savings_ratio", "cg_cache_hit_ratio", "cg_added_latency_ms", "cg_stash_reserve_bytes")


async def page_of(served: Served) -> str:
    await served.settled()
    node = served.gateway.node
    node.pages = MetricsPages(node.publisher, node.snapshots)
    return (await served.send("GET", "/metrics")).text


async def test_case_132_a_fresh_node_has_every_closed_series_at_zero(served: Served) -> None:
    page = await page_of(served)
    found = samples(page)

    for name in UNLABELLED.split():
        assert value(page, name) == 0, name
    for name, (label, values) in CLOSED.items():
        for each in values.split():
            assert value(page, name, **{label: each}) == 0, (name, each)
    for component, declaration in components().items():
        shared = OFFLOAD_GATES if declaration.decide else ()
        for gate in (*declaration.gates, *shared):
            labels = {"component": component, "gate": gate.name}
            assert value(page, "cg_component_gate_declines_total", **labels) == 0
        for outcome in ("ran", "acted", "mutated", "discarded", "reverted"):
            labels = {"component": component, "outcome": outcome}
            assert value(page, "cg_component_runs_total", **labels) == 0
    assert not [name for name, _ in found if name.endswith("_created")]


async def test_case_132_what_must_not_be_rated_is_a_gauge(served: Served) -> None:
    types = {
        family.name: family.type for family in text_string_to_metric_families(await page_of(served))
    }

    assert {types[name] for name in UNSAFE} == {"gauge"}


async def test_every_counter_says_what_it_is_counted_in(served: Served) -> None:
    page = await page_of(served)

    for family in text_string_to_metric_families(page):
        if family.type in {"counter", "histogram"} and family.samples:
            assert "Counted in this process since start" in family.documentation, family.name
    assert "will not equal the dashboard" in page


async def test_the_page_is_text_of_the_stated_version(served: Served) -> None:
    answer = await served.send("GET", "/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4"
    assert value(answer.text, "cg_inflight_requests") == 1
    build = re.search(r'^cg_build_info\{version="[^"]+"\} 1.0$', answer.text, re.MULTILINE)
    assert build is not None


async def test_a_request_is_in_every_histogram(served: Served) -> None:
    await served.post(with_output(LONG), x_context_guru_session="s")
    page = await page_of(served)

    assert value(page, "cg_request_duration_seconds_count", route="messages") == 1
    for name in ("cg_added_seconds", "cg_upstream_first_byte_seconds", "cg_store_commit_seconds"):
        assert value(page, f"{name}_count") == 1
        assert value(page, f"{name}_bucket", le="+Inf") == 1
        assert value(page, f"{name}_sum") > 0


def surprises(outputs: tuple[ToolOutput, ...], config: Any, turn: Turn) -> Iterable[Step]:
    yield Decline(Gate("made_up", "Nobody declared it."))
    yield Happened(Event("invented", "Nor this."))


SURPRISING: Declaration = dataclasses.replace(mask.COMPONENT, decide=surprises, config=None)


async def test_case_134_an_undeclared_name_is_counted_as_other_and_logged_once(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    served.use(PipelineStep(SURPRISING, None))
    for _ in range(3):
        await served.post(with_output(LONG), x_context_guru_session="s")
    page = await page_of(served)

    assert value(page, "cg_component_gate_declines_total", component="mask", gate="other") == 3
    assert value(page, "cg_component_events_total", component="mask", event="other") == 3
    assert "made_up" not in page
    logged = [r.getMessage() for r in caplog.records if "cg.undeclared" in r.getMessage()]
    assert sorted(logged) == [
        "cg.undeclared component=mask name=invented",
        "cg.undeclared component=mask name=made_up",
    ]


def test_case_133_tenant_labels_are_bounded_and_nothing_counted_is_lost() -> None:
    refusals = TenantRefusals()

    for _ in range(2):
        for number in range(2100):
            refusals.add(f"ten_{number}", "auth")

    assert len(refusals.by_tenant) == 2001
    assert refusals.by_tenant["ten_0"] == {"auth": 2}
    assert refusals.by_tenant[OTHER] == {"auth": 200}


def test_pairs_of_tenant_and_reason_are_bounded_too() -> None:
    refusals = TenantRefusals()

    for number in range(1000):
        for reason in REASONS:
            refusals.add(f"ten_{number}", reason)

    assert sum(map(len, refusals.by_tenant.values())) <= KEYS_MAX
    assert sum(map(whole, refusals.by_tenant.values())) == 1000 * len(REASONS)


def whole(counter: dict[str, int]) -> int:
    return sum(counter.values())


async def test_case_133_the_versions_of_many_tenants_share_a_label(served: Served) -> None:
    snapshots = served.gateway.node.snapshots
    acme = snapshots.tenants["ten_acme"]
    snapshots.tenants = {f"ten_{number:04}": acme for number in range(2100)}

    found = samples(await page_of(served))

    versions = [dict(labels)["tenant"] for name, labels in found if name == "cg_config_version"]
    assert len(versions) == 2001
    assert OTHER in versions


async def test_a_refused_request_is_charged_to_the_tenant_by_its_name(served: Served) -> None:
    await served.send("POST", "/v1/messages", headers={"x-context-guru-token": TB}, content=b"{}")
    page = await page_of(served)

    labels = {"tenant": "ten_birch", "label": "Birch", "reason": "no_provider_key"}
    assert value(page, "cg_tenant_refused_requests_total", **labels) == 1
    assert value(page, "cg_refused_requests_total", reason="no_provider_key") == 1
    assert 'tenant="ten_acme",reason' not in page


async def test_no_label_holds_what_a_request_said(served: Served) -> None:
    body = with_output(LONG, model="made-up-model-of-a-client")
    await served.post(body, x_context_guru_session="session-of-a-client")
    await served.send("GET", "/v1/secret-path-of-a-client", headers=AGENT)
    page = await page_of(served)

    assert "of-a-client" not in page
    assert TA not in page


async def test_case_d_09_ten_thousand_sessions_add_no_series(served: Served) -> None:
    case = json.loads((house.ROOT / "tests" / "data" / "cases" / "D-09.json").read_text())
    asked, expect = case["setup"], case["expect"]
    for number in range(asked["sessions"]):
        tool = f"toolu_{number % asked['tool_names']}"
        step = StepReport("iVBORw0KGgo", Kind.OFFLOAD, 9, 9, error=tool, undeclared={tool})
        served.gateway.node.telemetry.add(
            Record(
                f"R{number}", "ten_acme", "messages", "anthropic", 0.0, model=tool,
                session=f"sess-{number:05}", error_type=tool, report=RunReport(9, 9, 9, [step]),
            )
        )  # fmt: skip

    page = await page_of(served)

    series = [line for line in page.splitlines() if line and not line.startswith("#")]
    assert len(series) <= expect["max_series"]
    assert not [each for each in expect["no_label_matches"] if re.search(each, page)]
    assert value(page, "cg_requests_total") == asked["sessions"]


async def test_a_page_is_built_once_in_ten_seconds_and_outside_the_event_loop(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, threads = [100.0], []
    build = metrics.exposition

    def noting(page: metrics.Page) -> bytes:
        threads.append(threading.current_thread())
        return build(page)

    monkeypatch.setattr(pages, "exposition", noting)
    node = served.gateway.node
    node.pages = MetricsPages(node.publisher, node.snapshots, clock=lambda: clock[0])

    first, second = await asyncio.gather(node.pages.process(), node.pages.process())
    await served.post(with_output(LONG))
    clock[0] = 109.9
    assert await node.pages.process() == first == second
    clock[0] = 110.0
    assert await node.pages.process() != first

    assert len(threads) == 2
    assert threading.current_thread() not in threads
