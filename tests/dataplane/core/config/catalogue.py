"""What 04 §2.5 to 2.7 list: every code, every removed and every refused key or value."""

from __future__ import annotations

CONFIG = """
above_max bad_length bad_pattern below_min component_not_in_pipeline component_takes_no_config
component_unavailable conflicting_keys deprecated_key duplicate_component duplicate_key
empty_document empty_pipeline encoding filter_invalid inline_secret irreversible_mode
keepalive_idle_too_long limit_exceeded merge_key model_unpriced multiple_documents must_run_alone
no_compaction_model node_capability non_string_key not_a_mapping not_finite not_in_enum
nothing_to_do null_value pipeline_overrides_preset policy_forbidden preset_archived preset_cycle
preset_not_found preset_version_not_found refused_key regex_invalid regex_too_slow removed_key
removed_value requires_key schema_too_new schema_too_old secret_not_found stash_ttl_above_ttl
store_disabled_marker_full store_disabled_marker_summary store_required sweep_dialect_unsupported
syntax too_deep too_large too_many_nodes unknown_component unknown_key unsupported_tag
unsupported_value upstream_dialect_mismatch upstream_not_found url_not_allowed wrong_type
"""
# Not of that list: 08 §K-19 asks for the first; what this build does not obey has the
# second, a tenant whose sessions rest the third.
BESIDE = {
    "config.overridden_by_environment", "config.not_in_effect", "advice.cold_cache_pays",
}  # fmt: skip
ADVICE = """
agentdiet_not_alone cachesplit_not_last frozen_decisions_discarded identical_to_default
keepalive_spends linecap_not_last llm_on_caching_backend mask_on_caching_backend
order_lossless_first recovery_deadline_capped recovery_page_small sweep_evidence_off
sweep_ignores_ask_cost sweep_inventory_low sweep_keep_recheck_long sweep_pre_expiry_wide
sweep_premium_above_one sweep_pressure_floor_high sweep_without_econ_trigger
"""
CODES = {
    *(f"config.{name}" for name in CONFIG.split()),
    *(f"advice.{name}" for name in ADVICE.split()),
    *BESIDE,
}

# Component, key (dotted), value where only that one is meant, code.
REMOVED = {
    ("extract_llm", "per_output", "true", "config.removed_key"),
    ("extract_llm", "per_output", "false", "config.removed_key"),
    ("extract_llm", "cold_cache", "true", "config.removed_key"),
    ("extract_llm", "cold_cache", "false", "config.removed_key"),
    *(
        ("extract_llm", f"cold_cache.{key}", "", "config.removed_key")
        for key in ("enabled", "min_tokens", "min_idle_seconds", "max_calls")
    ),
    *(
        ("extract_llm_sweep", key, "", "config.removed_key")
        for key in ("per_output", "cold_cache", "enabled")
    ),
    *(
        (component, "trigger.cache_state", value, "config.removed_value")
        for component in ("summarize", "cache_aware_summarizer")
        for value in ("cold", "pre_expiry_or_cold")
    ),
}
REFUSED = {
    ("extract_llm_sweep", key, "", "config.refused_key")
    for key in (
        "model", "strategy", "rewrite", "aggressiveness", "max_chars", "context",
        "context_messages", "max_calls", "economic_gate", "min_idle_seconds",
        "model_max_input_tokens",
    )
}  # fmt: skip
