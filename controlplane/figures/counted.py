"""What telemetry counted within a window, by the names of 03-proxy-and-recovery.md 6.1.

The memory of a node begins again with its process, and holds what that process served. What nodes
reported outlives both, so the figures of the Overview are made of this. A counter that nothing is
known of is absent, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.accounts.scopes import Scope
from controlplane.figures.stats import Stats
from controlplane.telemetry.queries import (
    ComponentFigures,
    Coverage,
    State,
    Traffic,
    Window,
    components,
    coverage,
    totals,
)
from controlplane.telemetry.queries.losses import MISSING

# Fields of /stats, and the columns of a window's traffic.
COLUMNS = {
    "all_requests": "requests",
    "requests": "shaped",
    "sessions": "sessions",
    "tokens_before": "tokens_before",
    "tokens_after": "tokens_after",
    "attempted_tokens": "attempted_tokens",
    "saved_tokens": "saved_gross",
    "saved_tokens_unique": "saved_unique",
    "bounces": "expands",
    "wasted_tokens": "expand_tokens",
    "fresh_input_tokens": "fresh_input",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
    "cache_write_1h_tokens": "cache_write_1h",
    "output_tokens": "output",
    "unpriced_requests": "unpriced",
    "expand_unresolved_missing": "expand_missing",
    "expand_unresolved_malformed": "expand_malformed",
    "stash_missing": "stash_missing",
    "stash_refused": "stash_refused",
}
# Those that telemetry keeps by their name.
NAMED = (
    "frozen_hits",
    "llm_calls",
    "observe_hypothetical_requests",
    "observe_dropped",
    "observe_abandoned",
    "observe_errors",
    "actual_baseline_tokens",
)
ANSWERED = ("sse_streamed", "sse_buffered")
# Reported as sum and number: dataplane.adapters.figures.uplink_rows.
MEANS = ("sse_ttfb_ms", "sse_ttfb_ms_buffered")
INVENTED = ("never_minted", "deleted")
COMPONENT = {
    **{name: name for name in ("runs", "acted", "acted_fresh", "acted_replay", "reverted")},
    "saved_tokens": "saved_gross",
    "saved_tokens_unique": "saved_unique",
}


@dataclass(frozen=True, slots=True)
class Counted:
    """stats: empty where nothing is known. state: of all of them; covered: by whose reports."""

    state: State
    covered: Coverage
    traffic: Traffic
    stats: Stats


def counted(reach: Scope, window: Window, tenant: str) -> Counted:
    """tenant: its uid, "" for all that may be seen. Without components, which take longer."""
    traffic, covered = totals(reach, window, tenant=tenant), coverage(window)
    is_known = traffic.state not in (State.UNKNOWN, State.NO_DATA)
    return Counted(traffic.state, covered, traffic, _stats(traffic) if is_known else {})


def components_at_work(reach: Scope, window: Window, tenant: str) -> Stats:
    """The part `components` of it: those that ran, most runs first."""
    _, found = components(reach, window, tenant=tenant)
    ran = [figures for figures in found if figures.counts.get("runs")]
    return {each.component: _component(each) for each in sorted(ran, key=_fewest_runs_last)}


def _fewest_runs_last(figures: ComponentFigures) -> tuple[int, str]:
    return -figures.counts["runs"], figures.component


def _stats(traffic: Traffic) -> Stats:
    counts = traffic.counts
    columns = {field: getattr(traffic, column) for field, column in COLUMNS.items()}
    named = {name: counts.get(name, 0) for name in NAMED}
    projected = counts.get("projected_optimized_tokens", 0)
    unresolved = _by_name(counts, "unresolved:")
    return {
        **columns,
        **named,
        **_dollars(traffic),
        "frozen_flips": counts.get("frozen_dropped", 0) - counts.get("frozen_repaired", 0),
        "adjusted_saved": traffic.saved_gross - traffic.expand_tokens,
        "potential_saved_tokens": named["actual_baseline_tokens"] - projected,
        "expand_unresolved_never_minted": sum(unresolved.get(name, 0) for name in INVENTED),
        "expand_unresolved_missing_by": {cause: unresolved.get(cause, 0) for cause in MISSING},
        "bypassed": _by_name(counts, "bypassed:"),
        **{name: counts.get(name, 0) for name in ANSWERED},
        **{f"{name}_avg": _mean(counts, name) for name in MEANS},
    }


def _mean(counts: Mapping[str, int], name: str) -> float | None:
    """In ms, over all processes; None where none was measured."""
    number = counts.get(f"{name}_n", 0)
    return counts.get(f"{name}_sum", 0) / number if number else None


def _dollars(traffic: Traffic) -> Stats:
    """None for unknown: nothing that was served has a price."""
    pings, rescued = traffic.pings_usd, traffic.rescued_usd
    kept = {
        "pings": traffic.counts.get("keepalive_pings", 0),
        "rescues": traffic.counts.get("keepalive_rescues", 0),
        "net_usd": str(rescued - pings),
    }
    if not traffic.priced or traffic.cost_usd is None or traffic.saved_usd is None:
        return {"billed_usd": None, "baseline_usd": None, "keepalive": kept}
    baseline = traffic.cost_usd - pings + traffic.saved_usd + rescued
    return {"billed_usd": str(traffic.cost_usd), "baseline_usd": str(baseline), "keepalive": kept}


def _by_name(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {
        name.removeprefix(prefix): number
        for name, number in counts.items()
        if name.startswith(prefix)
    }


def _component(figures: ComponentFigures) -> Stats:
    counts = figures.counts
    return {
        **{field: counts[column] for field, column in COMPONENT.items()},
        "duration_ms": counts["duration_us"] / 1000,
        "verdict": _verdict(counts),
        "gates": {gate.name: gate.n for gate in figures.gates},
        "events": {event.name: event.n for event in figures.events},
    }


def _verdict(counts: Mapping[str, int]) -> str:
    if counts["acted"]:
        return "acted"
    return "moved" if counts["mutated"] else "skipped"
