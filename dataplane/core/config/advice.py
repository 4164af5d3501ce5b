"""The texts of what depends on the deployment, and of advice, with the figures behind it.

Source: 04-controlplane-and-dashboard.md 2.5, its last two tables.
"""

from __future__ import annotations

from dataplane.core.config.phrases import advice, error, warning

PLACES = {
    "config.policy_forbidden": error(
        "{name} is not allowed here.", "{reason}", "Take it out, or ask for the policy to change."
    ),
    "config.upstream_not_found": error(
        "There is no upstream {name} for {dialect}.",
        "Upstreams of this deployment: {known}.",
        "Choose one of these.",
    ),
    "config.upstream_dialect_mismatch": error(
        "Upstream {name} speaks {actual}, not {dialect}.",
        "A request of one dialect means nothing in another.",
        "Choose an upstream for {dialect}.",
    ),
    "config.no_compaction_model": warning(
        "{component} would never call a model.",
        "model.source is config, and this deployment has no compaction model.",
        "Write model.source: incoming, or have a compaction model set up.",
    ),
    "config.sweep_dialect_unsupported": warning(
        "{component} would never act for this tenant.",
        "It works on upstreams of dialect {dialects} only, and the tenant has none.",
        "Give the tenant such an upstream, or take {component} out of the pipeline.",
    ),
    "config.model_unpriced": warning(
        "Model {name} has no price.",
        "What it costs and what it saves will read unknown.",
        "Add it to the price card.",
    ),
    "config.overridden_by_environment": warning(
        "{name} has no effect here: {variable} of the node counts instead.",
        "The node was started with {setting} in its environment, which is above every document.",
        "Start the node without {variable}, or delete the key.",
    ),
    "config.node_capability": warning(
        "{count} of {all} nodes cannot run this: {nodes}.",
        "{reason}",
        "Update these nodes, or leave them out of the rollout.",
    ),
}

ADVICE = {
    "advice.mask_on_caching_backend": advice(
        "mask will decline most outputs with the gate cached_prefix.",
        "Outputs old enough to mask are the ones the provider already holds in its prompt cache, "
        "and cold_cache is not set.",
        "Set mask.cold_cache: true to mask at depth once the cache has expired.",
    ),
    "advice.cold_cache_pays": advice(
        "cold_cache: true would have spared about ${usd} in the last week.",
        "{basis}",
        "Set {component}.cold_cache: true. Each rest then changes what the provider holds, once, "
        "when it holds nothing anyway.",
    ),
    "advice.sweep_without_econ_trigger": advice(
        "Without econ_trigger the sweep will almost never act.",
        "Its other trigger waits for a pause just before the cache expires, and a busy deployment "
        "makes none: it declined 286 of 286, 378 of 378 and 18 of 18 requests in three measured "
        "runs.",
        "Write econ_trigger: true.",
    ),
    "advice.sweep_inventory_low": advice(
        "The sweep will ask about as few as {value} outputs at once.",
        "The judge kept 6 % of what was still needed when it was shown one output, and 58 % at "
        "about 15. In batches of 3 to 6 it dropped a spent output 2 times of 4, in batches of 10 "
        "4 times of 4.",
        "Write min_inventory: 10 or more.",
    ),
    "advice.sweep_pressure_floor_high": advice(
        "The sweep waits until {value} of the window is filled.",
        "Of 74 asks that paid, floors of 0.10, 0.20, 0.30, 0.50 and 0.70 left 57, 51, 48, 39 and "
        "4; they lost 8, 12, 21, 37 and 67 % of what removal was worth.",
        "Write min_pressure: 0.30 or less.",
    ),
    "advice.sweep_premium_above_one": advice(
        "reward_premium is {value}: a belief that nothing here has measured.",
        "It lets the sweep act where the tokens saved do not pay for it.",
        "Write 1 for a first deployment.",
    ),
    "advice.sweep_pre_expiry_wide": advice(
        "The clock may act {value} seconds before the cache expires.",
        "It acts on more turns, and throws away prefixes with more of their lifetime left; "
        "neither side has been measured.",
        "Write pre_expiry_seconds: 120 or less.",
    ),
    "advice.sweep_ignores_ask_cost": advice(
        "The price of the ask is left out of the test.",
        "This is for runs that attribute costs. The ask was once the whole cost of 9 asks, 6 of "
        "which removed nothing: $0.4339 for a saving of $0.0017.",
        "Write econ_ignore_ask_cost: false.",
    ),
    "advice.sweep_keep_recheck_long": advice(
        "An output judged needed is left alone for {value} turns.",
        "It is not asked about in that time, even when it is spent after the next turn.",
        "Write keep_recheck_turns: 8 or less.",
    ),
    "advice.sweep_evidence_off": advice(
        "The sweep asks without evidence.",
        "With it, the judge sees what later turns used of each output.",
        "Write evidence: true for a first deployment.",
    ),
    "advice.linecap_not_last": advice(
        "linecap comes before {behind}, which removes content as well.",
        "A modest reducer in front of a drastic one takes its candidates: 28.87 % were saved with "
        "linecap in 7th place, 29.03 % without it, 30.37 % with it last.",
        "Move linecap behind {behind}.",
    ),
    "advice.agentdiet_not_alone": advice(
        "agentdiet runs beside {others}, which removes content as well.",
        "Nothing breaks, but what agentdiet saves can no longer be told apart.",
        "Leave agentdiet as the only component that removes content.",
    ),
    "advice.llm_on_caching_backend": advice(
        "extract_llm will call a model where the provider caches the prompt.",
        "There a token that stays costs a tenth: the calls cost about 8 times what they saved "
        "where it was measured.",
        "Write allow_on_caching_backend: false.",
    ),
    "advice.frozen_decisions_discarded": advice(
        "This change builds the pipeline anew.",
        "With running_sessions: keep, the default, running sessions stay on what they have. With "
        "switch, the next turn of each writes its cached suffix again at about 11.5 times the "
        "price of reading it.",
        "Keep running_sessions: keep.",
    ),
    "advice.recovery_deadline_capped": advice(
        "{name} is {value}; clients wait {cap} ms at most.",
        "A larger value has no effect.",
        "Write {cap}.",
    ),
    "advice.recovery_page_small": advice(
        "recovery.limits.page_bytes is {value}, less than 262144.",
        "The recovery tool of LangChain asks for 262144 bytes unless it is told otherwise, and "
        "each such call would be answered with invalid_range.",
        "Write page_bytes: 262144.",
    ),
    "advice.order_lossless_first": advice(
        "{component} comes after {before}, which removes content.",
        "A lossless component behind a lossy one sees fewer tokens, so its share of the saving "
        "reads too low.",
        "Move {component} before {before}.",
    ),
    "advice.cachesplit_not_last": advice(
        "cachesplit is not last in the pipeline.",
        "It edits the system prompt, not the messages, so nothing behind it depends on it.",
        "Move cachesplit to the end.",
    ),
    "advice.identical_to_default": advice(
        "This document says the same as the {below} document.",
        "A copy does not follow when the default changes.",
        "Follow the default instead.",
    ),
    "advice.keepalive_spends": advice(
        "Keep-alive pings spend the caller's money while the caller is away.",
        "Each ping reads the whole cached prefix once.",
        "Check keepalive_max_pings and keepalive_max_usd_per_ping.",
    ),
}
