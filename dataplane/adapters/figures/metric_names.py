"""Names, labels and help texts of the series that a node serves (03-proxy-and-recovery.md 6.2)."""

from __future__ import annotations

from typing import NamedTuple

from dataplane.adapters.figures.stats import MISSING
from dataplane.adapters.figures.tenant_refusals import REASONS
from dataplane.core.config.wording import WORDINGS
from dataplane.core.door.route import NAMES as ROUTES
from dataplane.core.expand.endings import ENDINGS, counted_as

__all__ = ["ROUTES"]


class Labelled(NamedTuple):
    """A counter with one label, whose values are a closed set."""

    name: str
    text: str
    label: str
    values: tuple[str, ...]


# Series to field of the totals and help text. The exposition appends _total.
COUNTERS = {
    "cg_requests": ("requests", "Requests that the pipeline ran on."),
    "cg_tokens_before": ("tokens_before", "Content tokens as they arrived."),
    "cg_tokens_after": ("tokens_after", "Content tokens as they were forwarded."),
    "cg_saved_tokens": ("saved_tokens", "Tokens not sent."),
    "cg_saved_tokens_unique": ("saved_tokens_unique", "Tokens removed, each text once."),
    "cg_expand_bounces": ("bounces", "Originals given back to the model."),
    "cg_wasted_tokens": ("wasted_tokens", "Tokens of those originals."),
    "cg_expand_prefix_flips": (
        "expand_prefix_flips",
        "Established compactions abandoned after an expand, per turn and message.",
    ),
    "cg_adjudicate_stray": ("adjudicate_stray", "Verdict tool calls made by an agent."),
    "cg_usage_estimated": (
        "usage_estimated",
        "Answers that were cut, whose output tokens are those that were delivered.",
    ),
    "cg_usage_unparsed": ("usage_unparsed", "Responses whose usage has an unknown form."),
    "cg_usage_unreadable": ("usage_unreadable", "Responses whose usage could not be read."),
    "cg_client_disconnects": ("client_disconnects", "Clients that went away early."),
    "cg_rewrite_failures": ("rewrite_failures", "Requests sent as they came after a fault."),
    "cg_llm_calls": ("llm_calls", "Model calls of our own components."),
    "cg_telemetry_dropped": ("telemetry_dropped", "Reports that were not delivered."),
}


def _labelled(name: str, text: str, label: str, *values: str) -> Labelled:
    return Labelled(name, text, label, values)


# Series to the field of the totals behind each label value.
LABELLED = {
    _labelled(name, text, label, *fields): fields
    for name, text, label, fields in (
        (
            "cg_billed_tokens",
            "Tokens that providers billed, all rounds.",
            "tier",
            {
                "fresh_input": "fresh_input_tokens",
                "cache_read": "cache_read_tokens",
                "cache_write": "cache_write_tokens",
                "output": "output_tokens",
            },
        ),
        (
            "cg_sse_streams",
            "Streams: the client read along, or waited for a recovery.",
            "path",
            {"streamed": "sse_streamed", "buffered": "sse_buffered"},
        ),
        (
            "cg_pristine_resends",
            "Changed bodies that a provider refused, sent again as they came.",
            "outcome",
            {"recovered": "pristine_recovered", "same": "pristine_same"},
        ),
        (
            "cg_recovery_endings",
            "Recovery calls that the gateway did not answer, by what became of them.",
            "ending",
            {each.name: counted_as(each.name) for each in ENDINGS},
        ),
        (
            "cg_observe_jobs",
            "Requests that mode observe measured, or could not.",
            "outcome",
            {
                "processed": "observe_processed",
                "dropped": "observe_dropped",
                "coalesced": "observe_coalesced",
                "error": "observe_errors",
            },
        ),
        (
            "cg_keepalive_pings",
            "Pings that keep a prompt cache alive; skipped ones found a gate closed.",
            "outcome",
            {
                "read": "keepalive_read",
                "wrote": "keepalive_wrote",
                "failed": "keepalive_failed",
                "skipped": "keepalive_skipped",
            },
        ),
        (
            "cg_llm_tokens",
            "Tokens of model calls of our own components.",
            "direction",
            {"input": "llm_input_tokens", "output": "llm_output_tokens"},
        ),
        (
            "cg_llm_failures",
            "Model calls of our own components that failed.",
            "kind",
            {"timeout": "llm_timeouts", "error": "llm_errors"},
        ),
    )
}
UNRESOLVED_CAUSES = {
    "malformed": ("malformed",),
    "missing": MISSING,
    "never_minted": ("never_minted", "deleted"),
    "foreign_session": ("foreign_session",),
    "foreign_tenant": ("foreign_tenant",),
}
UNRESOLVED = _labelled(
    "cg_expand_unresolved",
    "Recovery calls without an original; missing must stay 0.",
    "reason",
    *UNRESOLVED_CAUSES,
)
REFUSED = _labelled(
    "cg_refused_requests", "Requests answered with an error of ours.", "reason", *REASONS
)
FROZEN = _labelled(
    "cg_frozen_decisions",
    "Earlier decisions looked up, and those that the store dropped.",
    "outcome",
    *("hit", "miss", "dropped", "repaired"),
)
NACKS = _labelled(
    "cg_config_nacks",
    "Configurations that this node refused, by code.",
    "code",
    "hash_mismatch",
    "version_regression",
    "store_unavailable",
    "build_failed",
    *sorted({*WORDINGS, "config.schema_too_new"}),
)
OUTCOMES = {
    "ran": "runs",
    "acted": "acted",
    "mutated": "mutated",
    "discarded": "discarded_changes",
    "reverted": "reverted",
}
MEANS = {
    "cg_added_latency_ms": "cg_added_ms",
    "cg_upstream_latency_ms": "upstream_ms",
    "cg_sse_ttfb_ms": "sse_ttfb_ms",
}
GAUGE_TEXTS = {
    "cg_savings_ratio": "Tokens not sent, of all that arrived (0 to 1), since start.",
    "cg_cache_hit_ratio": "Cache reads of cache reads and fresh input (0 to 1), since start.",
    "cg_added_latency_ms": "Mean time that the pipeline adds, since start.",
    "cg_upstream_latency_ms": "Mean time until a provider's answer begins, since start.",
    "cg_sse_ttfb_ms": "Mean time to the first byte of a stream that was read along, since start.",
    "cg_inflight_requests": "Requests being served now.",
    "cg_keepalive_spend_usd": "Spent on keep-alive pings since start.",
    "cg_snapshots_pinned": "Superseded configurations that running requests still hold.",
}
HISTOGRAMS = {
    "added": "What the pipeline adds to a request, store included.",
    "upstream_first_byte": "Until a provider's answer begins.",
    "store_commit": "Until originals are durable, or the store is given up on.",
}
STASH = {
    "stash_refused": "Originals that the store refused; nothing was lost.",
    "stash_missing": "Markers sent without an original; must stay 0.",
    "stash_expired": "Originals removed because of their age.",
    "stash_revived": "Expired originals that a replay brought back.",
}
UNUSED_COUNTERS = (
    _labelled("cg_extract_calls", "Extraction calls.", "outcome", "made", "avoided", "suppressed"),
)
UNUSED_GAUGES = {
    "cg_extract_cost_usd": "Spent on extraction since start.",
    "cg_extract_net_value_usd": "Saved by extraction less its cost, since start.",
    "cg_extract_latency_ms": "Mean time of an extraction call, since start.",
}
# Without a sample: their labels are known once something happens.
UNUSED_BY_TENANT = (
    ("cg_extract_gate_declines", "Extractions declined.", ["reason"]),
    ("cg_rollout_halts", "Rollouts that were halted.", ["tenant", "cause"]),
)
