"""The exact fields of /stats, whose they are, and that they add up (03 §6.1, 10.1)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dataplane.core.components import components
from dataplane.core.expand.endings import ENDINGS
from tests.dataplane.gateway import TA, TB
from tests.dataplane.gateway_cases.served import LONG, MASK_ALL, Serve, Served, with_output
from tests.dataplane.telemetry.reading import replay, value
from tests.fakes.receiver import Receiver

TOP = """
actual_baseline_tokens adjudicate_stray adjusted_saved agentdiet_call_timeout_ms agentdiet_errors
agentdiet_timeouts all_requests attempted_tokens baseline_usd billed_usd bounces bypassed
cache_read_tokens
cache_write_1h_tokens cache_write_tokens cg_added_ms_avg client_disconnects cmdfilter_families
cmdfilter_filters cmdfilter_selector_misses compaction_resets components counter environment
expand_oversize expand_prefix_flips expand_unresolved_foreign_session
expand_unresolved_foreign_tenant expand_unresolved_malformed expand_unresolved_missing
expand_unresolved_missing_by expand_unresolved_never_minted extract fresh_input_tokens
frozen_dropped frozen_flips frozen_hits frozen_misses frozen_repaired frozen_tokens inflight
llm_call_timeout_ms llm_calls llm_errors llm_input_tokens llm_output_tokens llm_timeouts
llm_truncated mode node observe_hypothetical_requests output_tokens potential_components
potential_overhead_ms_avg potential_saved_tokens potential_savings_pct priced_requests
pristine_resends projected_optimized_tokens recovery_endings refused requests rewrite_failures
saved_tokens
saved_tokens_unique savings_pct savings_pct_attempted savings_pct_new_input scope snapshot
sse_buffered sse_buffered_pct sse_expand_after_stream sse_streamed sse_ttfb_ms_avg
sse_ttfb_ms_avg_buffered stash_bytes stash_capacity stash_expired stash_live stash_max_bytes
stash_missing stash_refused stash_revived store summarize_call_timeout_ms summarize_errors
summarize_timeouts sync_enforced tasks tenant tokens_after tokens_before top_discarded
top_passthrough unpriced_requests upstream_ms_avg upstream_ms_avg_bypassed upstream_rounds
uptime_s usage_estimated usage_unparsed usage_unreadable wasted_tokens
"""
INSIDE = {
    "store": """
        authoritative backend commit_ms_p50 commit_ms_p99 commit_timeouts commits disk_used_ratio
        durability refused_for_disk
    """,
    "snapshot": "version hash staleness_s last_nack",
    "pristine_resends": "recovered same",
    "recovery_endings": " ".join(each.name for each in ENDINGS),
    "expand_unresolved_missing_by": "expired lost store_error decrypt_error",
    "cmdfilter_families": "builds tests iac pkg net other",
    "extract": """
        avg_latency_ms by_component cache_hit_rate cache_lookups calls calls_avoided
        calls_suppressed cost_source extraction_cost_usd gross_saved_tokens gross_value_usd
        net_value_usd prompt_cache_read_tokens prompt_cache_write_tokens reasons top_reason
        unpriced_components
    """,
}
COMPONENT = """
acted acted_fresh acted_replay discarded_changes duration_ms events gates mutated overcount_ratio
reverted runs saved_tokens saved_tokens_unique verdict
"""
COUNTERS = (
    "requests", "all_requests", "tokens_before", "tokens_after", "saved_tokens",
    "saved_tokens_unique", "fresh_input_tokens", "cache_read_tokens", "cache_write_tokens",
    "output_tokens", "frozen_hits", "frozen_misses", "sse_streamed", "upstream_rounds",
    "stash_live", "attempted_tokens",
)  # fmt: skip


async def stats_of(served: Served, key: str = "") -> dict[str, Any]:
    await served.settled()
    headers = {"x-context-guru-token": key} if key else {}
    answer = await served.send("GET", "/stats", headers=headers)
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("key", [pytest.param(TA, id="23-tenant"), pytest.param("", id="process")])
async def test_every_field_is_there_before_the_first_request(served: Served, key: str) -> None:
    stats = await stats_of(served, key)

    assert sorted(stats) == TOP.split()
    for name, keys in INSIDE.items():
        assert set(stats[name]) == set(keys.split()), name
    assert set(stats["components"]) == set(components())
    for component in stats["components"].values():
        assert sorted(component) == COMPONENT.split()
        assert component["verdict"] == "idle"


async def test_no_field_comes_or_goes_with_traffic(served: Served) -> None:
    before = await stats_of(served, TA)

    await served.post(with_output(LONG), x_context_guru_session="s")
    after = await stats_of(served, TA)

    assert after.keys() == before.keys()
    assert after["components"]["mask"].keys() == before["components"]["mask"].keys()
    assert after["components"]["mask"]["verdict"] == "acted"


async def test_a_report_says_how_full_the_store_and_its_disk_are(serve: Serve) -> None:
    sink = Receiver()
    async with serve(sink=sink) as served:
        await served.post(with_output(LONG), x_context_guru_session="s")
        stats = await stats_of(served)
    said = sink.batches[-1].gauges

    names = ("stash_live", "stash_capacity", "stash_bytes", "stash_max_bytes")
    assert {name: said[name] for name in names} == {name: stats[name] for name in names}
    assert said["stash_bytes"] > 0
    assert said["disk_used_permille"] == pytest.approx(
        1000 * stats["store"]["disk_used_ratio"], abs=20
    )


async def test_a_component_that_only_looks_is_named_and_one_that_acts_is_not(
    serve: Serve,
) -> None:
    async with serve("pipeline: [dedup, mask]\ncomponents: {mask: {keep_recent: 0}}\n") as served:
        await served.post(with_output(LONG), x_context_guru_session="s")
        stats = await stats_of(served, TA)

    assert stats["top_passthrough"] == ["dedup"]
    assert stats["top_discarded"] == []


async def test_a_tenant_sees_its_own_figures_and_the_process_their_sum(serve: Serve) -> None:
    async with serve(test_clock=True) as served:
        await replay(served, turns=6, key=TA)
        await replay(served, turns=9, key=TB)
        whole = await stats_of(served)
        acme, birch = await stats_of(served, TA), await stats_of(served, TB)

    assert (acme["requests"], birch["requests"]) == (6, 9)
    for name in COUNTERS:
        assert whole[name] == acme[name] + birch[name], name
    assert acme["frozen_hits"] > 0
    for name, component in whole["components"].items():
        parts = (acme["components"][name], birch["components"][name])
        assert component["runs"] == sum(part["runs"] for part in parts)


async def test_what_one_tenant_is_refused_is_not_told_to_another(served: Served) -> None:
    await served.send("POST", "/v1/messages", headers={"x-context-guru-token": TB}, content=b"{}")

    assert (await stats_of(served, TA))["refused"] == {}
    assert (await stats_of(served, TB))["refused"] == {"no_provider_key": 1}
    assert (await stats_of(served))["refused"] == {"no_provider_key": 1}


LINE = re.compile(
    r"cg\.request .* tiers=(\d+)/(\d+)/(\d+)/(\d+) .*"
    r"tokens_before=(\d+) tokens_after=(\d+) tokens_saved=(\d+)"
)


async def test_stats_metrics_and_log_agree_to_the_token(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    document = "pipeline: [dedup, format, mask, collapse, cachesplit]\n"
    async with serve(document, test_clock=True) as served:
        with caplog.at_level("INFO", logger="headrace.request"):
            run = await replay(served, turns=14)
        stats = await stats_of(served)
        page = (await served.send("GET", "/metrics")).text

    lines = [LINE.search(record.getMessage()) for record in caplog.records]
    logged = [
        sum(column)
        for column in zip(
            *([int(number) for number in line.groups()] for line in lines if line), strict=True
        )
    ]
    fields = ("fresh_input", "cache_read", "cache_write", "output")
    assert [stats[f"{tier}_tokens"] for tier in fields] == logged[:4]
    assert [value(page, "cg_billed_tokens_total", tier=tier) for tier in fields] == logged[:4]
    totals = ("tokens_before", "tokens_after", "saved_tokens")
    assert [stats[name] for name in totals] == logged[4:]
    assert [value(page, f"cg_{name}_total") for name in totals] == logged[4:]
    assert stats["tokens_before"] == sum(outcome.before or 0 for outcome in run.outcomes)
    assert stats["tokens_after"] == sum(outcome.after or 0 for outcome in run.outcomes)
    assert stats["requests"] == len(run.outcomes) == value(page, "cg_requests_total")


async def test_replayed_decisions_are_hits_and_undecided_outputs_misses(served: Served) -> None:
    await served.post(with_output(LONG), x_context_guru_session="s")
    first = await stats_of(served, TA)
    await served.post(with_output(LONG), x_context_guru_session="s")
    second = await stats_of(served, TA)

    assert (first["frozen_hits"], first["frozen_misses"]) == (0, 1)
    assert (second["frozen_hits"], second["frozen_misses"]) == (1, 1)
    assert second["frozen_flips"] == 0


async def test_the_mode_is_the_one_in_force(serve: Serve) -> None:
    async with serve(MASK_ALL + "mode: observe\n") as served:
        await served.post(with_output(LONG), x_context_guru_session="s")
        stats = await stats_of(served, TA)

    assert (stats["mode"], stats["sync_enforced"], stats["saved_tokens"]) == ("observe", 0, 0)
