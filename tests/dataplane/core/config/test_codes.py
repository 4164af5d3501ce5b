"""Every code has a document that raises it, at an exact place: 04 section 2.11, V-01."""

from __future__ import annotations

import dataclasses

import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check_document
from dataplane.core.config.deployment import Ability, Deployment, Endpoint, Policy
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.presets import BUILT_IN, Preset
from dataplane.core.config.problems import ConfigError, DocumentRef
from dataplane.core.config.wording import WORDINGS
from dataplane.core.declaration import Declaration
from tests.dataplane.core.config.checking import CONTEXT, RUNNABLE, checked, place

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
]  # fmt: skip
ARCHIVED = Preset("old", 3, "pipeline: [mask]\n", archived=True)
LOOP = (Preset("a", 1, "extends: b\n"), Preset("b", 1, "extends: a\n"))
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
FIXTURES = [*SYNTAX, *KEYS, *VALUES, *ACROSS, *REFERENCES, *ADVICE]
OF_A_NODE = {"config.schema_too_new": 99, "config.schema_too_old": 0}


@pytest.mark.parametrize(("text", "context", "expected"), FIXTURES)
def test_a_code_is_raised_at_its_place(text: str, context: Context, expected: str) -> None:
    """04 V-01."""
    found = [place(problem) for problem in checked(text, context).problems]

    assert expected in found
    assert found.count(expected) == 1


@pytest.mark.parametrize(("code", "version"), OF_A_NODE.items())
def test_a_node_knows_the_schemas_that_it_can_read(code: str, version: int) -> None:
    with pytest.raises(ConfigError) as refused:
        check_document({"schema_version": version}, components())

    errors = [one for one in refused.value.problems if one.severity == "error"]
    assert [(one.code, one.path, one.line) for one in errors] == [(code, "/schema_version", None)]


def test_every_code_has_a_fixture() -> None:
    """04 V-01."""
    raised = {str(fixture.values[2]).split()[0] for fixture in FIXTURES} | set(OF_A_NODE)

    assert set(WORDINGS) - raised == set()


@pytest.mark.parametrize(("text", "context", "expected"), FIXTURES)
def test_every_problem_says_what_is_wrong_in_whole_sentences(
    text: str, context: Context, expected: str
) -> None:
    problems = [one for one in checked(text, context).problems if expected.startswith(one.code)]

    for problem in problems:
        assert problem.message.endswith(".")
        assert problem.reason is None or problem.reason.endswith(".")


@pytest.mark.parametrize(
    ("context", "severity"),
    [
        (runnable(policy=Policy(irreversible_marker_modes="deny")), "error"),
        (runnable(policy=Policy(irreversible_marker_modes="ack")), "warning"),
    ],
)
def test_policy_decides_how_grave_a_marker_without_an_original_is(
    context: Context, severity: str
) -> None:
    (problem,) = checked(block("mask", "marker_mode: off"), context).problems

    assert (problem.code, problem.severity) == ("config.irreversible_mode", severity)


@pytest.mark.parametrize(("starting", "severity"), [(True, "error"), (False, "warning")])
def test_a_node_that_lacks_a_component_blocks_a_rollout_and_not_a_save(
    *, starting: bool, severity: str
) -> None:
    able = Ability("able", frozenset(components()))
    context = here(nodes=(able, Ability("old", frozenset({"mask"}), schema=0)), starting=starting)

    (problem,) = checked("pipeline: [mask]\n", context).problems

    assert problem.severity == severity
    assert problem.message == "1 of 2 nodes cannot run this: old."


@pytest.mark.parametrize(
    ("by_manager", "allowed"), [(True, True), (False, False)], ids=["manager", "admin"]
)
def test_a_manager_may_enable_what_calls_a_model(*, by_manager: bool, allowed: bool) -> None:
    policy = Policy(llm_components="manager_only", by_manager=by_manager)

    outcome = checked("pipeline: [extract_llm]\n", runnable(policy=policy))

    assert (outcome.errors == ()) is allowed


@pytest.mark.parametrize("length", [4, 5])
def test_a_chain_of_presets_has_at_most_four_links(length: int) -> None:
    links = [Preset(f"p{i}", 1, f"extends: p{i + 1}\n") for i in range(1, length)]
    last = Preset(f"p{length}", 1, "pipeline: [mask]\n")

    outcome = checked("preset: p1\n", presets(*links, last))

    assert [problem.code for problem in outcome.errors] == ["config.preset_cycle"] * (length == 5)


def test_an_archived_preset_stays_with_those_who_named_it_before() -> None:
    context = dataclasses.replace(presets(ARCHIVED), named_before="old@3")

    assert checked("preset: old\n", context).warnings == ()


def test_the_places_inside_a_filter_are_said_as_well() -> None:
    text = block(
        "cmdfilter", "filters:", "  - |", "    schema_version: 1", "    filters:",
        "      x: {match: a, bogus: 1}", "      x2: {cap_reduce: 3}",
    )  # fmt: skip

    (problem,) = checked(text, RUNNABLE).errors

    assert [(inner.line, inner.column) for inner in problem.errors] == [(3, 17), (4, 3), (4, 3)]
    assert "line 3, column 17" in (problem.reason or "")


def test_a_lower_layer_that_names_what_this_build_lacks_is_blamed() -> None:
    below = (Layer(SERVER, "preset: mcp\n"),)

    outcome = checked("mode: sync\n", dataclasses.replace(CONTEXT, below=below))

    (problem,) = outcome.errors
    assert (problem.code, problem.path, problem.line) == (
        "config.component_unavailable", "/preset", None,
    )  # fmt: skip
    assert problem.document == SERVER


@pytest.mark.parametrize(
    "declared", [one for one in components().values() if one.calls_model], ids=lambda one: one.name
)
def test_what_calls_a_model_says_so(declared: Declaration) -> None:
    assert declared.name in {
        "extract_llm", "extract_llm_sweep", "summarize", "cache_aware_summarizer", "agentdiet",
    }  # fmt: skip


def test_nothing_is_said_about_a_deployment_that_is_not_known() -> None:
    text = block("summarize", "model: {source: config, model: m, base_url: 'https://a.example'}")

    assert checked(text, RUNNABLE).problems == ()
