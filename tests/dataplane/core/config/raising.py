"""Documents that raise a code of their own text at an exact place: (text, context, place)."""

from __future__ import annotations

import dataclasses

import pytest

from dataplane.core.config.deployment import Deployment, Endpoint
from dataplane.core.config.layers import Context
from dataplane.core.config.presets import BUILT_IN, Preset
from dataplane.core.config.problems import DocumentRef
from tests.dataplane.core.config.checking import CONTEXT, RUNNABLE

PRESET = DocumentRef("preset", "ours")
SERVER = DocumentRef("server_default", "", 7)


def runnable(**facts: object) -> Context:
    context: Context = dataclasses.replace(RUNNABLE, **facts)  # type: ignore[arg-type]
    return context


def here(**facts: object) -> Context:
    return runnable(here=Deployment(**facts))  # type: ignore[arg-type]


def presets(*own: Preset) -> Context:
    return runnable(presets=(*BUILT_IN, *own))


def block(component: str, *lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"pipeline: [{component}]\ncomponents:\n  {component}:\n{body}"


SWEEP = ("econ_trigger: true", "evidence: true")
SYNTAX = [
    pytest.param("mode: [\n", CONTEXT, "config.syntax 2:1", id="syntax"),
    pytest.param("a: \x01\n", CONTEXT, "config.encoding 1:4", id="encoding"),
    pytest.param("#" * 300_000, CONTEXT, "config.too_large -", id="too_large"),
    pytest.param("a: " + "[" * 30, CONTEXT, "config.too_deep 1:23 /a" + "/0" * 19, id="too_deep"),
    pytest.param(
        "a: [" + "b," * 20_000 + "]", CONTEXT, "config.too_many_nodes 1:39999 /a/19997",
        id="too_many_nodes",
    ),
    pytest.param("mode: sync\n---\n", CONTEXT, "config.multiple_documents 2:1", id="two"),
    pytest.param("- a\n", CONTEXT, "config.not_a_mapping 1:1", id="not_a_mapping"),
    pytest.param(
        "mode: sync\nmode: sync\n", CONTEXT, "config.duplicate_key 2:1 /mode", id="V-04"
    ),
    pytest.param("1: x\n", CONTEXT, "config.non_string_key 1:1 /1", id="non_string_key"),
    pytest.param("<<: {a: 1}\n", CONTEXT, "config.merge_key 1:1 /<<", id="merge_key"),
    pytest.param("mode: !x sync\n", CONTEXT, "config.unsupported_tag 1:7 /mode", id="tag"),
    pytest.param("# nothing\n", CONTEXT, "config.empty_document -", id="empty_document"),
    pytest.param("mode:\n", CONTEXT, "config.null_value 1:1 /mode", id="null_value"),
]  # fmt: skip
KEYS = [
    pytest.param("modes: sync\n", CONTEXT, "config.unknown_key 1:1 /modes", id="unknown_key"),
    pytest.param(
        block("extract_llm", "per_output: true"), RUNNABLE,
        "config.removed_key 4:5 /components/extract_llm/per_output", id="removed_key",
    ),
    pytest.param(
        "responses_stream_expand: true\n", CONTEXT,
        "config.removed_key 1:1 /responses_stream_expand", id="removed_key-top-level",
    ),
    pytest.param(
        block("extract_llm_sweep", "strategy: code", *SWEEP), RUNNABLE,
        "config.refused_key 4:5 /components/extract_llm_sweep/strategy", id="refused_key",
    ),
    pytest.param(
        block("summarize", "start_from_message: 9"), RUNNABLE,
        "config.deprecated_key 4:5 /components/summarize/start_from_message", id="deprecated_key",
    ),
    pytest.param(
        block("summarize", "start_from_message: 9", "trigger: {min_messages: 4}"), RUNNABLE,
        "config.deprecated_key 4:5 /components/summarize/start_from_message",
        id="deprecated_key-beside-the-new-one",
    ),
    pytest.param(
        "preset: codesmart\ncomponents:\n  extract_llm:\n    per_output: false\n", RUNNABLE,
        "config.removed_key 4:5 /components/extract_llm/per_output", id="removed_key-no-pipeline",
    ),
    pytest.param(
        "pipeline: [msk]\n", CONTEXT, "config.unknown_component 1:12 /pipeline/0", id="component"
    ),
    pytest.param(
        "pipeline: [format, skeleton]\n", CONTEXT,
        "config.component_unavailable 1:20 /pipeline/1", id="component_unavailable",
    ),
    pytest.param(
        "mode: sync\npreset: mcp\n", CONTEXT, "config.component_unavailable 2:9 /preset",
        id="component_unavailable-by-preset",
    ),
    pytest.param(
        block("toolschema", "a: 1"), RUNNABLE,
        "config.component_takes_no_config 3:3 /components/toolschema", id="takes_no_config",
    ),
    pytest.param(
        "pipeline: [mask, mask]\n", CONTEXT, "config.duplicate_component 1:18 /pipeline/1",
        id="duplicate_component",
    ),
    pytest.param(
        "pipeline: [mask]\ncomponents: {toon: {}}\n", CONTEXT,
        "config.component_not_in_pipeline 2:14 /components/toon", id="not_in_pipeline",
    ),
    pytest.param(
        "preset: cache\npipeline: [mask]\n", CONTEXT,
        "config.pipeline_overrides_preset 2:1 /pipeline", id="overrides_preset",
    ),
    pytest.param("pipeline: []\n", CONTEXT, "config.empty_pipeline 1:1 /pipeline", id="empty"),
]  # fmt: skip
VALUES = [
    pytest.param(
        "pipeline: [mask]\ncomponents: {mask: 3}\n", CONTEXT,
        "config.wrong_type 2:20 /components/mask", id="wrong_type-block",
    ),
    pytest.param(
        block("mask", "keep_recent: '3'"), CONTEXT,
        "config.wrong_type 4:18 /components/mask/keep_recent", id="wrong_type",
    ),
    pytest.param(
        block("cacheinject", "ttl: 2h"), RUNNABLE,
        "config.not_in_enum 4:10 /components/cacheinject/ttl", id="not_in_enum",
    ),
    *(
        pytest.param(
            block(component, f"trigger: {{cache_state: {value}}}"), RUNNABLE,
            f"config.removed_value 4:28 /components/{component}/trigger/cache_state",
            id=f"removed_value-{component}-{value}",
        )
        for component in ("summarize", "cache_aware_summarizer", "extract", "coref")
        for value in ("cold", "pre_expiry_or_cold")
    ),
    pytest.param("mode: async\n", CONTEXT, "config.unsupported_value 1:7 /mode", id="unsupported"),
    pytest.param(
        block("skeleton", "marker_mode: summary"), RUNNABLE,
        "config.unsupported_value 4:18 /components/skeleton/marker_mode", id="skeleton-full-only",
    ),
    pytest.param(
        "recovery: {enabled: true}\n", CONTEXT, "config.unsupported_value 1:21 /recovery/enabled",
        id="recovery-not-built",
    ),
    pytest.param(
        "cache: {head_ttl_1h: true}\n", CONTEXT,
        "config.unsupported_value 1:22 /cache/head_ttl_1h", id="head-ttl-not-built",
    ),
    pytest.param(
        "recovery: {transforms: [mask]}\n", CONTEXT,
        "config.unsupported_value 1:25 /recovery/transforms/0", id="transform-of-several-texts",
    ),
    pytest.param(
        "recovery: {transforms: [nosuch]}\n", CONTEXT,
        "config.unknown_component 1:25 /recovery/transforms/0", id="transform-unknown",
    ),
    pytest.param(
        block("coref", "min_tokens: 0"), RUNNABLE,
        "config.below_min 4:17 /components/coref/min_tokens", id="below_min",
    ),
    *(
        pytest.param(
            block("extract_llm_sweep", f"{key}: {value}", *SWEEP), RUNNABLE,
            f"config.above_max 4:{7 + len(key)} /components/extract_llm_sweep/{key}",
            id=f"above_max-{key}",
        )
        for key, value in (
            ("min_inventory", 25), ("pre_expiry_seconds", 300), ("reward_premium", 101),
            ("min_pressure", 1),
        )
    ),
    pytest.param(
        block("image_offload", "budgets: {anthropic: {count_quantum: 101}}"), RUNNABLE,
        "config.above_max 4:42 /components/image_offload/budgets/anthropic/count_quantum",
        id="above_max-quantum",
    ),
    pytest.param(
        block("collapse", "max_frac: .nan"), CONTEXT,
        "config.not_finite 4:15 /components/collapse/max_frac", id="not_finite",
    ),
    pytest.param(
        block("toolfilter", f"remove: [{'x' * 129}]"), RUNNABLE,
        "config.bad_length 4:14 /components/toolfilter/remove/0", id="bad_length",
    ),
    pytest.param(
        block("toolfilter", "remove: ['mcp__*']"), RUNNABLE,
        "config.bad_pattern 4:14 /components/toolfilter/remove/0", id="bad_pattern",
    ),
    pytest.param(
        block("cmdfilter", "filters: ['a: 1']"), RUNNABLE,
        "config.filter_invalid 4:15 /components/cmdfilter/filters/0", id="filter_invalid",
    ),
    pytest.param(
        block("cmdfilter", "filters: ['{schema_version: 1, filters: {x: {match: \"(\"}}}']"),
        RUNNABLE, "config.regex_invalid 4:15 /components/cmdfilter/filters/0", id="regex_invalid",
    ),
    pytest.param(
        block("cmdfilter", "filters: ['{schema_version: 1, filters: {x: {match: (a+)+b}}}']"),
        RUNNABLE, "config.regex_too_slow 4:15 /components/cmdfilter/filters/0", id="regex_too_slow",
    ),
    pytest.param(
        "pipeline: []\nforce_model: sk-abcdefghijklmnop1234\n", CONTEXT,
        "config.inline_secret 2:14 /force_model", id="V-09-by-its-looks",
    ),
    pytest.param(
        block("summarize", "model: {api_key: hunter2}"), RUNNABLE,
        "config.inline_secret 4:22 /components/summarize/model/api_key", id="V-09-in-a-secret-key",
    ),
    pytest.param(
        block("summarize", "model: {api_key: sk-abcdefghijklmnop1234}"), RUNNABLE,
        "config.inline_secret 4:22 /components/summarize/model/api_key", id="V-09-once",
    ),
    pytest.param(
        block("summarize", "model: {api_key: 'secret:gone'}"), here(secrets=frozenset({"own"})),
        "config.secret_not_found 4:22 /components/summarize/model/api_key", id="secret_not_found",
    ),
    pytest.param(
        block("summarize", "model: {model: m, base_url: 'https://evil.example'}"),
        here(endpoints=(Endpoint("main", "anthropic", "https://good.example"),)),
        "config.url_not_allowed 4:33 /components/summarize/model/base_url", id="url_not_allowed",
    ),
    pytest.param(
        f"pipeline: [{', '.join(['mask'] * 41)}]\n", CONTEXT,
        "config.limit_exceeded 1:11 /pipeline", id="limit_exceeded",
    ),
    pytest.param(
        block("cmdfilter", f"filters: ['{'#' * 66_000}']"), RUNNABLE,
        "config.limit_exceeded 4:14 /components/cmdfilter/filters", id="limit_exceeded-filters",
    ),
]  # fmt: skip
