"""Documents that raise a code of several keys, of references, places and habits."""

from __future__ import annotations

import pytest

from dataplane.core.config.deployment import Ability, Deployment, Endpoint, Policy, Rested
from dataplane.core.config.imposed import Imposed
from dataplane.core.config.layers import Layer
from dataplane.core.config.presets import Preset
from tests.dataplane.core.config.checking import CONTEXT, RUNNABLE
from tests.dataplane.core.config.raising import (
    PRESET,
    SERVER,
    SWEEP,
    block,
    here,
    presets,
    runnable,
)

ACROSS = [
    pytest.param(
        "pipeline: [format, summarize]\n", RUNNABLE, "config.must_run_alone 1:20 /pipeline/1",
        id="must_run_alone",
    ),
    pytest.param(
        "pipeline: [mask]\nstore: {enabled: false}\n", CONTEXT,
        "config.store_disabled_marker_full 1:12 /pipeline/0", id="store_disabled_full",
    ),
    pytest.param(
        block("mask", "marker_mode: summary") + "store: {enabled: false}\n", CONTEXT,
        "config.store_disabled_marker_summary 4:18 /components/mask/marker_mode",
        id="store_disabled_summary",
    ),
    pytest.param(
        "pipeline: [skeleton]\nstore: {enabled: false}\n", RUNNABLE,
        "config.store_required 1:12 /pipeline/0", id="store_required",
    ),
    pytest.param(
        block("extract_llm_sweep", *SWEEP) + "store: {enabled: false}\n",
        runnable(policy=Policy(irreversible_marker_modes="deny")),
        "config.store_required 1:12 /pipeline/0", id="store_required-by-policy",
    ),
    pytest.param(
        block("mask", "marker_mode: off"), CONTEXT,
        "config.irreversible_mode 4:18 /components/mask/marker_mode", id="irreversible_mode",
    ),
    *(
        pytest.param(
            block(component, *lines), RUNNABLE,
            f"config.nothing_to_do 4:{at} /components/{component}/{lines[0].partition(':')[0]}",
            id=f"nothing_to_do-{component}",
        )
        for component, at, *lines in (
            ("readlifecycle", 12, "stale: false", "superseded: false"),
            ("cmdfilter", 23, "disable_builtins: true"),
            ("linecap", 21, "max_line_chars: 0", "collapse_duplicate_lines: false"),
            ("coref", 23, "cut_unreferenced: false"),
        )
    ),
    pytest.param(
        block("summarize", "model: {provider: openai, auth: bearer}"), RUNNABLE,
        "config.conflicting_keys 4:37 /components/summarize/model/auth", id="conflicting_keys",
    ),
    pytest.param(
        block("summarize", "model: {base_url: 'https://a.example'}"), RUNNABLE,
        "config.requires_key 4:23 /components/summarize/model/base_url", id="requires_key",
    ),
    pytest.param(
        "expand: {max_inline_bytes: 9}\n", CONTEXT,
        "config.requires_key 1:28 /expand/max_inline_bytes", id="requires_key-expand",
    ),
    pytest.param(
        block("image_offload", "triggers: []"), RUNNABLE,
        "config.nothing_to_do 4:15 /components/image_offload/triggers", id="nothing_to_do-images",
    ),
    pytest.param(
        block("image_offload", "model_overrides: [{max_images: 9, count_quantum: 3}]"), RUNNABLE,
        "config.requires_key 4:23 /components/image_offload/model_overrides/0",
        id="requires_key-match",
    ),
    pytest.param(
        "cache: {keepalive_idle_seconds: 300}\n", CONTEXT,
        "config.keepalive_idle_too_long 1:33 /cache/keepalive_idle_seconds", id="keepalive_idle",
    ),
    pytest.param(
        "store: {ttl_seconds: 60, stash_ttl_seconds: 61}\n", CONTEXT,
        "config.stash_ttl_above_ttl 1:45 /store/stash_ttl_seconds", id="stash_ttl",
    ),
    pytest.param(
        "cache: {head_ttl_min_tokens: 5}\n", CONTEXT,
        "config.not_in_effect 1:30 /cache/head_ttl_min_tokens", id="not_in_effect",
    ),
]  # fmt: skip
ARCHIVED = Preset("old", 3, "pipeline: [mask]\n", archived=True)
LOOP = (Preset("a", 1, "extends: b\n"), Preset("b", 1, "extends: a\n"))
MODEL = Imposed("HEADRACE_FORCE_MODEL", "m9", "/force_model", "m9")
REFERENCES = [
    pytest.param("preset: hous\n", CONTEXT, "config.preset_not_found 1:9 /preset", id="not_found"),
    pytest.param(
        "preset: cache@9\n", CONTEXT, "config.preset_version_not_found 1:9 /preset", id="version"
    ),
    pytest.param(
        "preset: old\n", presets(ARCHIVED), "config.preset_archived 1:9 /preset", id="archived"
    ),
    pytest.param("preset: a\n", presets(*LOOP), "config.preset_cycle 1:9 /preset", id="cycle"),
    pytest.param(
        "mode: sync\nextends: ours\n", runnable(document=PRESET),
        "config.preset_cycle 2:10 /extends", id="cycle-to-itself",
    ),
    pytest.param(
        "preset: cache\n", runnable(document=PRESET), "config.refused_key 1:1 /preset",
        id="preset-in-a-preset",
    ),
    pytest.param(
        "", here(endpoints=(), chosen={"anthropic": "gone"}),
        "config.upstream_not_found - /upstreams/anthropic", id="upstream_not_found",
    ),
    pytest.param(
        "", here(endpoints=(Endpoint("x", "openai", "https://x.example"),),
                 chosen={"anthropic": "x"}),
        "config.upstream_dialect_mismatch - /upstreams/anthropic", id="dialect_mismatch",
    ),
    pytest.param(
        block("summarize", "model: {source: config}"), here(compaction_model=False),
        "config.no_compaction_model 4:21 /components/summarize/model/source", id="no_model",
    ),
    pytest.param(
        block("summarize", "model: {model: m9}"), here(priced=("m8",)),
        "config.model_unpriced 4:20 /components/summarize/model/model", id="model_unpriced-own",
    ),
    pytest.param(
        block("extract_llm_sweep", *SWEEP), here(chosen={"openai": "x"}),
        "config.sweep_dialect_unsupported 1:12 /pipeline/0", id="sweep_dialect",
    ),
    pytest.param(
        "force_model: m9\n", here(priced=("m8", "n*")), "config.model_unpriced 1:14 /force_model",
        id="model_unpriced",
    ),
    pytest.param(
        "force_model: m8\n", here(imposed=(MODEL,)),
        "config.overridden_by_environment 1:14 /force_model", id="K-19-overridden",
    ),
    pytest.param(
        "pipeline: [mask]\n", here(nodes=(Ability("n1", frozenset()),)),
        "config.node_capability 1:1 /pipeline", id="node_capability",
    ),
    pytest.param(
        "pipeline: [extract_llm]\n", runnable(policy=Policy(llm_components="deny")),
        "config.policy_forbidden 1:12 /pipeline/0", id="policy_forbidden",
    ),
    pytest.param(
        block("cache_aware_summarizer", "profiles_path: /etc/x"), here(hosted=True),
        "config.policy_forbidden 4:20 /components/cache_aware_summarizer/profiles_path",
        id="policy_forbidden-path",
    ),
]  # fmt: skip


def sweep(key: str, value: object) -> str:
    others = [line for line in SWEEP if not line.startswith(key)]
    return block("extract_llm_sweep", f"{key}: {value}", *others)


ADVICE = [
    *(
        pytest.param(
            sweep(key, value), RUNNABLE,
            f"advice.sweep_{name} 4:{7 + len(key)} /components/extract_llm_sweep/{key}", id=name,
        )
        for name, key, value in (
            ("without_econ_trigger", "econ_trigger", "false"),
            ("inventory_low", "min_inventory", 9),
            ("pressure_floor_high", "min_pressure", 0.31),
            ("premium_above_one", "reward_premium", 1.5),
            ("pre_expiry_wide", "pre_expiry_seconds", 121),
            ("ignores_ask_cost", "econ_ignore_ask_cost", "true"),
            ("keep_recheck_long", "keep_recheck_turns", 9),
            ("evidence_off", "evidence", "false"),
        )
    ),
    pytest.param(
        "pipeline: [mask, toon]\n", RUNNABLE, "advice.order_lossless_first 1:18 /pipeline/1",
        id="order_lossless_first",
    ),
    pytest.param(
        "pipeline: [linecap, mask]\n", RUNNABLE, "advice.linecap_not_last 1:12 /pipeline/0",
        id="linecap_not_last",
    ),
    pytest.param(
        "pipeline: [cachesplit, mask]\n", CONTEXT, "advice.cachesplit_not_last 1:12 /pipeline/0",
        id="cachesplit_not_last",
    ),
    pytest.param(
        "pipeline: [agentdiet, mask]\n", RUNNABLE, "advice.agentdiet_not_alone 1:12 /pipeline/0",
        id="agentdiet_not_alone",
    ),
    pytest.param(
        block("extract_llm", "allow_on_caching_backend: true"), RUNNABLE,
        "advice.llm_on_caching_backend 4:31 /components/extract_llm/allow_on_caching_backend",
        id="llm_on_caching_backend",
    ),
    pytest.param(
        "pipeline: [mask]\n", runnable(caching_upstream=True),
        "advice.mask_on_caching_backend 1:12 /pipeline/0", id="mask_on_caching_backend",
    ),
    pytest.param(
        "pipeline: [mask]\n", runnable(here=Deployment(rested=Rested("0.42", 3, 2, 9000))),
        "advice.cold_cache_pays 1:12 /pipeline/0", id="cold_cache_pays",
    ),
    pytest.param(
        block("collapse", "cold_cache: false"),
        runnable(here=Deployment(rested=Rested("0.42", 3, 2, 9000))),
        "advice.cold_cache_pays 4:17 /components/collapse/cold_cache", id="cold_cache_pays-written",
    ),
    pytest.param(
        "pipeline: [mask]\n", runnable(serving="0" * 64), "advice.frozen_decisions_discarded -",
        id="frozen_decisions_discarded",
    ),
    pytest.param(
        "mode: sync\n", runnable(below=(Layer(SERVER, "mode: sync\n"),)),
        "advice.identical_to_default -", id="identical_to_default",
    ),
    pytest.param(
        "cache: {keepalive: true}\n", CONTEXT, "advice.keepalive_spends 1:20 /cache/keepalive",
        id="keepalive_spends",
    ),
    *(
        pytest.param(
            f"recovery: {{limits: {{{key}: {value}}}}}\n", CONTEXT,
            f"advice.{code} 1:{23 + len(key)} /recovery/limits/{key}", id=f"{code}-{key}",
        )
        for code, key, value in (
            ("recovery_deadline_capped", "deadline_ms", 5001),
            ("recovery_deadline_capped", "retrieve_deadline_ms", 30_001),
            ("recovery_page_small", "page_bytes", 262_143),
        )
    ),
]  # fmt: skip
