"""The built-in presets as listed, and those of an organisation: 04 §3, 01 §4."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dataplane.core.components import components
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.parse import parse
from dataplane.core.config.presets import BUILT_IN, Preset, find
from dataplane.core.config.problems import DocumentRef
from dataplane.core.config.resolve import value_at
from dataplane.core.config.tree import to_values
from tests.dataplane.core.config.checking import RUNNABLE, checked, codes

TRIO = "format, textclean, searchfold"
PIPELINES = {
    "house": "format, dedup, toon, cmdfilter, searchfold, textclean, extract, cachesplit, "
    "toolfilter",
    "housellm": "format, dedup, toon, cmdfilter, searchfold, textclean, extract_llm, "
    "extract_llm_sweep, extract, cachesplit, toolfilter",
    "codesmart": f"{TRIO}, dedup, failed_run, cmdfilter, extract_llm, extract, linecap, cachesplit",
    "codesafe": f"{TRIO}, dedup, failed_run, cmdfilter, extract, collapse, linecap, cachesplit",
    "off": "",
    "cache": "cachesplit",
    "safe": f"{TRIO}, cachesplit",
    "balanced": f"{TRIO}, dedup, failed_run, cmdfilter, linecap, cachesplit",
    "aggressive": f"{TRIO}, dedup, failed_run, cmdfilter, smartcrush, extract, extract_llm, "
    "linecap, cachesplit",
    "coding": f"{TRIO}, dedup, cmdfilter, extract, linecap, cachesplit",
    "mcp": "format, textclean, smartcrush, cachesplit",
    "agent": f"{TRIO}, dedup, failed_run, mask, extract, extract_llm, cachesplit",
    "general": f"{TRIO}, dedup, failed_run, cmdfilter, mask, extract, extract_llm, collapse, "
    "linecap, cachesplit",
    "summarize": "summarize",
    "agentdiet": "format, agentdiet, cachesplit",
}
OVERRIDES: dict[str, dict[str, Any]] = {
    "house": {"extract": {"min_tokens": 400}},
    "housellm": {
        "extract": {"min_tokens": 400},
        "extract_llm": {
            "aggressiveness": "medium", "context": "recent", "context_messages": 2,
            "economic_gate": True, "fire_on": "pressure", "llm_every_n_requests": 1,
            "llm_max_per_request": 8, "llm_max_per_session": 0, "min_tokens": 3000,
            "model": {"model": "claude-haiku-4-5", "source": "incoming"}, "strategy": "code",
            "trigger": {"min_request_tokens": 3000},
        },
        "extract_llm_sweep": {"min_tokens": 1000},
    },
    "codesmart": {
        "extract": {"min_tokens": 400},
        "extract_llm": {
            "strategy": "code", "model": {"source": "config"}, "min_tokens": 3000,
            "trigger": {"min_request_tokens": 3000}, "llm_every_n_requests": 1,
            "llm_max_per_request": 4,
        },
    },
    "codesafe": {"collapse": {"max_tokens": 3000}},
    "agentdiet": {
        "agentdiet": {
            "delay_steps": 2, "context_steps": 1, "min_step_tokens": 500,
            "min_saved_tokens": 400, "max_keep_ratio": 0.8, "model": {"source": "config"},
        },
    },
}  # fmt: skip
SPEND = {"housellm", "codesmart", "aggressive", "agent", "general", "summarize", "agentdiet"}
SERVER = DocumentRef("server_default", "", 7)


def test_the_built_in_presets_are_those_of_the_list() -> None:
    assert [preset.name for preset in BUILT_IN] == list(PIPELINES)


@pytest.mark.parametrize("preset", BUILT_IN, ids=lambda preset: preset.name)
def test_a_built_in_preset_is_exactly_what_is_listed(preset: Preset) -> None:
    tree = parse(preset.text).tree
    assert tree is not None
    written = to_values(tree)

    assert ", ".join(written["pipeline"]) == PIPELINES[preset.name]
    assert written.get("components", {}) == OVERRIDES.get(preset.name, {})


@pytest.mark.parametrize("preset", BUILT_IN, ids=lambda preset: preset.name)
def test_a_preset_calls_a_model_where_the_list_says_so(preset: Preset) -> None:
    outcome = checked(f"preset: {preset.name}\n", RUNNABLE)

    assert outcome.effective is not None
    spends = any(components()[name].calls_model for name in outcome.effective.pipeline)
    assert spends is (preset.name in SPEND)


@pytest.mark.parametrize("preset", BUILT_IN, ids=lambda preset: preset.name)
def test_a_preset_that_this_build_cannot_run_is_said_once_at_its_name(preset: Preset) -> None:
    wanted = PIPELINES[preset.name].split(", ") if PIPELINES[preset.name] else []
    lacking = [name for name in wanted if not components()[name].available]

    errors = checked(f"mode: sync\npreset: {preset.name}\n").errors

    assert [(error.code, error.line, error.column) for error in errors] == (
        [("config.component_unavailable", 2, 9)] if lacking else []
    )
    assert all(name in (error.reason or "") for error in errors for name in lacking)


def context(*own: Preset, below: tuple[Layer, ...] = ()) -> Context:
    return dataclasses.replace(RUNNABLE, presets=(*BUILT_IN, *own), below=below)


OURS = Preset("ours", 2, "extends: codesmart\ncomponents:\n  extract: {min_tokens: 250}\n")


def test_a_preset_that_extends_another_changes_the_leaves_it_writes() -> None:
    effective = checked("preset: ours\n", context(OURS)).effective

    assert effective is not None
    assert ", ".join(effective.pipeline) == PIPELINES["codesmart"]
    assert effective.document["components"]["extract"]["min_tokens"] == 250
    assert effective.document["components"]["extract_llm"]["min_tokens"] == 3000
    origins = effective.origins
    assert str(origins["/components/extract/min_tokens"]) == "preset:ours@v2:line 3"
    assert str(origins["/components/extract_llm/strategy"]).startswith("preset:codesmart@v1:")


def test_a_preset_is_checked_with_what_it_extends() -> None:
    as_preset = dataclasses.replace(context(), document=DocumentRef("preset", "ours", 2))

    outcome = checked(OURS.text, as_preset)

    assert outcome.errors == ()
    assert outcome.effective is not None
    assert ", ".join(outcome.effective.pipeline) == PIPELINES["codesmart"]
    assert codes("extends: nosuch\n", as_preset) == ["config.preset_not_found"]


def test_a_pinned_version_stays_when_a_newer_one_is_current() -> None:
    newer = Preset("ours", 3, "pipeline: []\n")

    assert find((newer, OURS), "ours") is newer
    assert find((newer, OURS), "ours@2") is OURS


def test_the_worked_example_of_three_layers() -> None:
    """04 §3.3."""
    below = (
        Layer(SERVER, "preset: house\n"),
        Layer(
            DocumentRef("org_default", "acme", 3),
            "components: {extract: {min_tokens: 250}, extract_llm: {context: full}}\n",
        ),
    )
    text = "preset: codesmart\ncomponents:\n  extract_llm: {min_tokens: 5000}\n"

    effective = checked(text, context(below=below)).effective

    assert effective is not None
    assert ", ".join(effective.pipeline) == PIPELINES["codesmart"]
    found = effective.document["components"]
    assert found["extract"]["min_tokens"] == 400
    assert (found["extract_llm"]["strategy"], found["extract_llm"]["min_tokens"]) == ("code", 5000)
    assert found["extract_llm"]["context"] == "full"


def test_what_lower_layers_said_is_kept_in_their_order() -> None:
    below = (
        Layer(SERVER, "pipeline: [mask]\ncomponents: {mask: {keep_recent: 9}}\n"),
        Layer(DocumentRef("org_default", "acme", 3), "components: {mask: {keep_recent: 7}}\n"),
    )

    effective = checked(
        "preset: agent\ncomponents: {mask: {keep_recent: 5}}\n", context(below=below)
    ).effective

    assert effective is not None
    said = effective.overridden["/components/mask/keep_recent"]
    assert [(one.value, str(one.origin)) for one in said] == [
        (7, "org_default:acme@v3:line 1"),
        (9, "server_default@v7:line 2"),
        (3, "default:schema1"),
    ]
    (dropped,) = effective.overridden["/pipeline"]
    assert (dropped.value, str(dropped.origin)) == (["mask"], "server_default@v7:line 1")
    assert "/mode" not in effective.overridden


def test_a_value_is_looked_up_by_its_pointer() -> None:
    document = {"pipeline": ["mask"], "components": {"mask": {"keep_recent": 5}}}

    assert value_at(document, "/components/mask/keep_recent") == 5
    assert value_at(document, "/pipeline/0") == "mask"
    assert value_at(document, "/pipeline/7") is None
