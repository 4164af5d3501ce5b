"""The JSON object of /stats: every field from the first request on, with its zero.

Fields are added and never renamed or removed. A feature that is not part of this build reports
what it did: nothing. Left out, as the source has it, are observe_queue before anything was queued,
keepalive without consent, the observe notices without figures, and savings outside single-tenant
mode.
Source: 03-proxy-and-recovery.md 6.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from dataplane.adapters.figures.totals import ComponentTotals, Mean, Totals
from dataplane.adapters.stores.originals import StoreStats
from dataplane.core.components import components
from dataplane.core.expand.endings import ENDINGS, counted_as

MISSING = ("expired", "lost", "store_error", "decrypt_error")
_FAMILIES = ("builds", "tests", "iac", "pkg", "net", "other")
_TOP = 10
# A reserved summary in the place of a ping: no component of this build writes one.
_SUBSTITUTES = (
    "keepalive_summary_substitute_refresh_paid",
    "keepalive_summary_substitute_refresh_not_worth_it",
)
_BILLED = (
    "fresh_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "usage_unparsed",
    "usage_estimated",
    "usage_unreadable",
    "priced_requests",
    "unpriced_requests",
    "upstream_rounds",
)
_MODEL_CALLS = (
    "llm_calls",
    "llm_input_tokens",
    "llm_output_tokens",
    "llm_timeouts",
    "llm_errors",
    "llm_truncated",
    "summarize_timeouts",
    "summarize_errors",
    "agentdiet_timeouts",
    "agentdiet_errors",
)
# What a component's own model call may take, in ms (01-components.md 1.13).
_BUDGETS_MS = {
    "llm_call_timeout_ms": 90_000,
    "summarize_call_timeout_ms": 300_000,
    "agentdiet_call_timeout_ms": 90_000,
}
_RESPONSES = ("sse_streamed", "sse_buffered", "sse_expand_after_stream", "client_disconnects")
_HEALTH = (
    "compaction_resets",
    "adjudicate_stray",
    "expand_oversize",
    "rewrite_failures",
    "frozen_hits",
    "frozen_misses",
    "expand_prefix_flips",
)
_COMPONENT = (
    "runs",
    "acted",
    "acted_fresh",
    "acted_replay",
    "mutated",
    "reverted",
    "saved_tokens",
    "saved_tokens_unique",
    "discarded_changes",
)
_OBSERVE_NOTICE = (
    "Requests of this tenant went to the provider as they came. The potential_* and projected_* "
    "figures are what mode sync would have made of them; saved_tokens does not contain them."
)
_OBSERVE_LLM_NOTICE = "Model calls that components made for these figures were real and are billed."
_EXTRACT_COUNTS = (
    "calls",
    "calls_avoided",
    "calls_suppressed",
    "cache_lookups",
    "gross_saved_tokens",
    "prompt_cache_read_tokens",
    "prompt_cache_write_tokens",
)
_EXTRACT_DOLLARS = ("extraction_cost_usd", "gross_value_usd", "net_value_usd")


def counted(totals: Totals) -> dict[str, Any]:
    """The fields that come from counting requests; those of the store and the node join later."""
    return {
        **_savings(totals),
        "components": _components(totals),
        **_tops(totals),
        "bypassed": dict(totals.bypassed),
        "refused": dict(totals.refused),
        **_fields(totals, _BILLED),
        **_dollars(totals),
        **_fields(totals, _MODEL_CALLS),
        **_BUDGETS_MS,
        **_means(totals),
        **_fields(totals, _RESPONSES),
        "sse_buffered_pct": _percent(
            totals.counts["sse_buffered"],
            totals.counts["sse_streamed"] + totals.counts["sse_buffered"],
        ),
        **_fields(totals, _HEALTH),
        "pristine_resends": {
            outcome: totals.counts[f"pristine_{outcome}"] for outcome in ("recovered", "same")
        },
        "recovery_endings": {e.name: totals.counts[counted_as(e.name)] for e in ENDINGS},
        **_unresolved(totals.unresolved),
        **_observed(totals),
        **_not_in_this_build(),
    }


def _dollars(totals: Totals) -> dict[str, str | None]:
    """baseline_usd: what the priced requests would have been billed, had nothing been taken out
    and nothing been kept alive.
    """
    if not totals.counts["priced_requests"]:
        return {"billed_usd": None, "baseline_usd": None}
    baseline = totals.billed_usd - totals.pings_usd + totals.saved_usd + totals.rescued_usd
    return {"billed_usd": str(totals.billed_usd), "baseline_usd": str(baseline)}


def stored(store: StoreStats, disk_used_ratio: float) -> dict[str, Any]:
    """The fields that come from the store; its totals lie flat, the rest in an object."""
    fields = msgspec.to_builtins(store)
    flat = {name: value for name, value in fields.items() if name.startswith(("stash_", "frozen_"))}
    nested = {name: value for name, value in fields.items() if name not in flat}
    return {
        **flat,
        "frozen_flips": store.frozen_dropped - store.frozen_repaired,
        "store": {**nested, "disk_used_ratio": round(disk_used_ratio, 4)},
    }


def kept_alive(totals: Totals, live: int) -> dict[str, Any]:
    """Threads whose caches are kept alive, pings by how they ended, and whether they pay."""
    counts = totals.counts
    return {
        "live_sessions": live,
        "pings": counts["keepalive_pings"],
        "read": counts["keepalive_read"],
        "wrote_instead_of_read": counts["keepalive_wrote"],
        "failed": counts["keepalive_failed"],
        "skipped": counts["keepalive_skipped"],
        "spend_usd": str(totals.pings_usd),
        "rescues": counts["keepalive_rescues"],
        "rescued_usd": str(totals.rescued_usd),
        "net_usd": str(totals.rescued_usd - totals.pings_usd),
        "gates": dict(totals.not_kept),
        **dict.fromkeys(_SUBSTITUTES, 0),
    }


def _savings(totals: Totals) -> dict[str, Any]:
    counts = totals.counts
    saved = counts["tokens_before"] - counts["tokens_after"]
    newly_billed = counts["fresh_input_tokens"] + counts["cache_write_tokens"]
    return {
        "requests": counts["requests"],
        "sync_enforced": counts["requests"],
        "all_requests": counts["all_requests"],
        "tokens_before": counts["tokens_before"],
        "tokens_after": counts["tokens_after"],
        "saved_tokens": saved,
        "saved_tokens_unique": counts["saved_tokens_unique"],
        "savings_pct": _percent(saved, counts["tokens_before"]),
        "wasted_tokens": counts["wasted_tokens"],
        "bounces": counts["bounces"],
        "adjusted_saved": saved - counts["wasted_tokens"],
        "attempted_tokens": counts["attempted_tokens"],
        "frozen_tokens": counts["tokens_before"] - counts["attempted_tokens"],
        "savings_pct_attempted": _percent(saved, counts["attempted_tokens"]),
        "savings_pct_new_input": _percent(saved, newly_billed + saved) if newly_billed else 0.0,
    }


def _fields(totals: Totals, names: Iterable[str]) -> dict[str, int]:
    return {name: totals.counts[name] for name in names}


def _means(totals: Totals) -> dict[str, float]:
    empty = Mean()
    return {
        field: round(totals.means.get(name, empty).value, 3)
        for field, name in (
            ("cg_added_ms_avg", "cg_added_ms"),
            ("upstream_ms_avg", "upstream_ms"),
            ("upstream_ms_avg_bypassed", "upstream_ms_bypassed"),
            ("sse_ttfb_ms_avg", "sse_ttfb_ms"),
            ("sse_ttfb_ms_avg_buffered", "sse_ttfb_ms_buffered"),
        )
    }


def _unresolved(found: Counter[str]) -> dict[str, Any]:
    by_cause = {cause: found[cause] for cause in MISSING}
    return {
        "expand_unresolved_malformed": found["malformed"],
        "expand_unresolved_missing": sum(by_cause.values()),
        "expand_unresolved_missing_by": by_cause,
        "expand_unresolved_never_minted": found["never_minted"] + found["deleted"],
        "expand_unresolved_foreign_session": found["foreign_session"],
    }


def _components(totals: Totals) -> dict[str, dict[str, Any]]:
    """Every component of this build, idle ones included, and those that other workers report."""
    idle = ComponentTotals()
    names = {**dict.fromkeys(components()), **dict.fromkeys(totals.components)}
    return {name: _component(totals.components.get(name, idle)) for name in names}


def _component(totals: ComponentTotals) -> dict[str, Any]:
    counts = totals.counts
    unique = counts["saved_tokens_unique"]
    return {
        **{name: counts[name] for name in _COMPONENT},
        "overcount_ratio": round(counts["saved_tokens"] / unique, 4) if unique else 0.0,
        "duration_ms": round(totals.duration_ms, 3),
        "verdict": _verdict(counts),
        "gates": dict(totals.gates),
        "events": dict(totals.events),
    }


def _verdict(counts: Counter[str]) -> str:
    if counts["acted"]:
        return "acted"
    if counts["mutated"]:
        return "moved"
    return "skipped" if counts["runs"] else "idle"


def _tops(totals: Totals) -> dict[str, list[str]]:
    """Components that never changed anything, and those whose changes were taken out again."""
    idle = {n: t.counts["runs"] for n, t in totals.components.items() if not t.counts["mutated"]}
    undone = {name: t.counts["discarded_changes"] for name, t in totals.components.items()}
    return {"top_passthrough": _most(idle), "top_discarded": _most(undone)}


def _most(counts: dict[str, int]) -> list[str]:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [name for name, count in ordered if count][:_TOP]


def _percent(part: int, whole: int) -> float:
    return round(part / whole * 100, 4) if whole else 0.0


def _observed(totals: Totals) -> dict[str, Any]:
    """What mode sync would have done to requests that were only measured."""
    counts = totals.counts
    before, after = counts["actual_baseline_tokens"], counts["projected_optimized_tokens"]
    overhead = totals.means.get("potential_overhead_ms", Mean())
    return {
        "observe_hypothetical_requests": counts["observe_hypothetical_requests"],
        "actual_baseline_tokens": before,
        "projected_optimized_tokens": after,
        "potential_saved_tokens": before - after,
        "potential_savings_pct": _percent(before - after, before),
        "potential_components": {n: _component(found) for n, found in totals.potential.items()},
        "potential_overhead_ms_avg": round(overhead.value, 3),
        **_observe_notices(counts),
        **_observe_queue(counts),
    }


def _observe_notices(counts: Counter[str]) -> dict[str, str]:
    if not counts["observe_hypothetical_requests"]:
        return {}
    notices = {"observe_notice": _OBSERVE_NOTICE}
    return notices | ({"observe_llm_notice": _OBSERVE_LLM_NOTICE} if counts["llm_calls"] else {})


def _observe_queue(counts: Counter[str]) -> dict[str, Any]:
    """Left out until a request was offered; pending: neither measured nor given up yet."""
    queued, processed = counts["observe_queued"], counts["observe_processed"]
    errors, abandoned = counts["observe_errors"], counts["observe_abandoned"]
    dropped, coalesced = counts["observe_dropped"], counts["observe_coalesced"]
    if not (queued or dropped):
        return {}
    found = {
        "queued": queued,
        "pending": queued - processed - errors - abandoned,
        "processed": processed,
        "dropped": dropped + abandoned,
        "errors": errors,
        "coalesced": coalesced,
    }
    return {"observe_queue": found}


def _not_in_this_build() -> dict[str, Any]:
    """Command filters and extraction: no component here does them."""
    acts = {"acts": 0, "saved_tokens": 0, "saved_tokens_unique": 0}
    return {
        "cmdfilter_families": {family: dict(acts) for family in _FAMILIES},
        "cmdfilter_filters": {},
        "cmdfilter_selector_misses": [],
        "extract": {
            **dict.fromkeys(_EXTRACT_COUNTS, 0),
            "cache_hit_rate": 0.0,
            "avg_latency_ms": 0.0,
            **dict.fromkeys(_EXTRACT_DOLLARS, "0"),
            "cost_source": "none",
            "unpriced_components": [],
            "reasons": {},
            "top_reason": "",
            "by_component": {},
        },
    }
